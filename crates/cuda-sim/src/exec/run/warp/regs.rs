//! The register files of a warp.

use crate::exec::code::Code;
use crate::exec::lanes::{PerLane, WARP};
use crate::exec::register::{R, Slot, Target};

/// What registers hold before they are written: a pattern that is unlikely to be mistaken for data.
pub(in crate::exec::run) const UNWRITTEN: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// The register files of a warp.
#[derive(Default)]
pub(in crate::exec::run) struct Regs {
    pub(in crate::exec::run) w32: Vec<PerLane<u32>>,
    pub(in crate::exec::run) w64: Vec<PerLane<u64>>,
    pub(in crate::exec::run) p: Vec<u32>,
}

impl Regs {
    /// Makes them the registers of `code` before any is written.
    pub(in crate::exec::run) fn forget(&mut self, code: &Code) {
        self.w32.clear();
        self.w32.extend((0..code.words32).map(|_| PerLane([UNWRITTEN as u32; WARP])));
        self.w64.clear();
        self.w64.extend((0..code.words64).map(|_| PerLane([UNWRITTEN; WARP])));
        self.p.clear();
        self.p.resize(code.predicates, 0);
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
    pub(in crate::exec::run) fn addresses(&self, target: Target) -> [u64; WARP] {
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
