//! The register files of a warp.

use std::mem::take;
use std::sync::{Mutex, PoisonError};

use crate::exec::code::Code;
use crate::exec::lanes::{PerLane, WARP};
use crate::exec::register::{AddressOperand, FileRegister, R, Slot};

/// Value of registers before they are written.
///
/// The pattern is unlikely to be mistaken for data.
pub(in crate::exec::run) const UNWRITTEN: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// The register files of a warp.
pub(in crate::exec::run) struct Regs {
    pub(in crate::exec::run) w32: Vec<PerLane<u32>>,
    pub(in crate::exec::run) w64: Vec<PerLane<u64>>,
    pub(in crate::exec::run) p: Vec<u32>,
}

/// The words of register files.
type RegisterWords = (Vec<PerLane<u32>>, Vec<PerLane<u64>>);

/// Register files of finished warps, for reuse.
///
/// Clearing about 200 kB per warp takes longer than a small launch.
static SPARE: Mutex<Vec<RegisterWords>> = Mutex::new(Vec::new());

/// Most spare register files: two blocks of 32 warps.
const MOST_SPARE: usize = 64;

/// Most registers of a spare file; larger files are freed.
const MOST_REGISTERS: usize = 1 << 12;

impl Regs {
    pub(in crate::exec::run) fn new(code: &Code) -> Self {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (mut w32, mut w64) = spare.unwrap_or_default();
        // A spare file is never shortened, since growing it again would clear it.
        w32.resize(code.words32.max(w32.len()), PerLane([0; WARP]));
        w64.resize(code.words64.max(w64.len()), PerLane([0; WARP]));
        Self { w32, w64, p: vec![0; code.predicates] }
    }

    /// Resets the registers that a thread may read before writing them.
    ///
    /// The others keep stale values, which no thread reads.
    pub(in crate::exec::run) fn forget(&mut self, code: &Code) {
        for &register in code.unassigned() {
            match register {
                FileRegister::W32(reg) => self.w32[reg as usize] = PerLane([UNWRITTEN as u32; WARP]),
                FileRegister::W64(reg) => self.w64[reg as usize] = PerLane([UNWRITTEN; WARP]),
                FileRegister::Predicate(reg) => self.p[reg as usize] = 0,
            }
        }
    }

    /// The value in one lane of a slot, as 64 bits.
    #[inline(always)]
    pub(in crate::exec::run) fn lane(&self, slot: Slot, lane: usize) -> u64 {
        match slot {
            Slot::W32(reg) | Slot::Narrow(reg, _) => self.w32[reg as usize].0[lane].into(),
            Slot::W64(reg) => self.w64[reg as usize].0[lane],
            Slot::None => 0,
        }
    }

    /// Sets one lane of a slot to the low bits of `value`.
    #[inline(always)]
    pub(in crate::exec::run) fn set_lane(&mut self, slot: Slot, lane: usize, value: u64) {
        match slot {
            Slot::W32(reg) => self.w32[reg as usize].0[lane] = value as u32,
            Slot::Narrow(reg, bits) => self.w32[reg as usize].0[lane] = value as u32 & ((1 << bits) - 1),
            Slot::W64(reg) => self.w64[reg as usize].0[lane] = value,
            Slot::None => {}
        }
    }

    /// Address of an access in every lane.
    #[inline(always)]
    pub(in crate::exec::run) fn addresses(&self, target: AddressOperand) -> [u64; WARP] {
        let mut addresses = [target.offset.cast_unsigned(); WARP];
        match target.base {
            Slot::W64(reg) => {
                let base = &self.w64[reg as usize].0;
                for (address, base) in addresses.iter_mut().zip(base) {
                    *address = address.wrapping_add(*base);
                }
            }
            Slot::W32(reg) | Slot::Narrow(reg, _) => {
                let base = &self.w32[reg as usize].0;
                for (address, &base) in addresses.iter_mut().zip(base) {
                    *address = u64::from((*address as u32).wrapping_add(base));
                }
            }
            Slot::None => {}
        }
        addresses
    }

    pub(in crate::exec::run) fn set_predicate(&mut self, reg: R, mask: u32, value: u32) {
        let p = &mut self.p[reg as usize];
        *p = *p & !mask | value & mask;
    }
}

impl Drop for Regs {
    fn drop(&mut self) {
        if self.w32.len().max(self.w64.len()) > MOST_REGISTERS {
            return;
        }
        let words = (take(&mut self.w32), take(&mut self.w64));
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MOST_SPARE {
            spare.push(words);
        }
    }
}
