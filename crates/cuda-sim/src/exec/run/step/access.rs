//! Loads and stores of a warp.

use std::ops::Range;

use crate::exec::code::{LocalMove, VectorAccess, Window};
use crate::exec::fault::{FaultKind, Space};
use crate::exec::lanes::{FULL, LaneBits, WARP};
use crate::exec::memory::{MemoryFault, MemoryProblem, MemoryRegion};
use crate::exec::register::Slot;
use crate::exec::run::seen::{AccessedMemory, Seen};
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::{Regs, Warp};
use crate::exec::window::resolve;

/// Smallest and largest active address, and all of their bits.
struct AddressSpan {
    low: u64,
    high: u64,
    bits: u64,
}

#[inline(always)]
fn span(addresses: &[u64; WARP], active: u32) -> AddressSpan {
    let mut span = AddressSpan { low: u64::MAX, high: 0, bits: 0 };
    let mut add = |address: u64| {
        span.low = span.low.min(address);
        span.high = span.high.max(address);
        span.bits |= address;
    };
    if active == FULL {
        addresses.iter().copied().for_each(&mut add);
    } else {
        LaneBits(active).for_each(|lane| add(addresses[lane]));
    }
    span
}

/// Calls `f` for each state space that active lanes address, with those lanes.
///
/// Addresses become addresses within that space.
#[inline(always)]
pub(super) fn by_space(
    window: Window,
    addresses: &mut [u64; WARP],
    active: u32,
    mut f: impl FnMut(Space, u32, &[u64; WARP]) -> StepResult,
) -> StepResult {
    let mut groups = [0_u32; 4];
    match window {
        Window::Fixed(space) => return f(space, active, addresses),
        Window::Generic => {
            for lane in LaneBits(active) {
                let (space, address) = resolve(addresses[lane]);
                groups[space as usize] |= 1 << lane;
                addresses[lane] = address;
            }
        }
    }
    for (space, mask) in [Space::Global, Space::Shared, Space::Local, Space::Param].into_iter().zip(groups) {
        if mask != 0 {
            f(space, mask, addresses)?;
        }
    }
    Ok(())
}

/// Checks the bounds of `bytes` bytes at each active address, and its alignment to `bytes`.
#[inline(always)]
pub(super) fn check<'j>(
    turn: &WarpTurn<'_, 'j>,
    warp: &mut Warp,
    space: Space,
    addresses: &[u64; WARP],
    active: u32,
    bytes: u64,
) -> StepResult<AccessedMemory<'j>> {
    check_aligned(turn, warp, space, addresses, active, (bytes, bytes))
}

/// As [`check`], for a length and an alignment that differ.
#[inline(always)]
pub(super) fn check_aligned<'j>(
    turn: &WarpTurn<'_, 'j>,
    warp: &mut Warp,
    space: Space,
    addresses: &[u64; WARP],
    active: u32,
    (bytes, align): (u64, u64),
) -> StepResult<AccessedMemory<'j>> {
    let span = span(addresses, active);
    if span.bits & (align - 1) != 0 {
        return misaligned(space, addresses, active, align);
    }
    if space != Space::Global {
        let size = turn.window_size(space);
        if size.checked_sub(span.high).is_none_or(|room| bytes > room) {
            return outside(space, addresses, active, bytes, size);
        }
        let arrays = &turn.job.code.arrays;
        if space == Space::Shared && arrays.len() > 1 {
            let holds = |array: &Range<u64>| array.start <= span.low && span.high + bytes <= array.end;
            if !arrays.get(warp.hot_array).is_some_and(holds) {
                within_arrays(warp, arrays, addresses, active, bytes)?;
            }
        }
        return Ok(AccessedMemory::Window);
    }
    let regions = &turn.job.view.regions;
    let length = span.high - span.low + bytes;
    if let Some(region) = regions.get(warp.hot).filter(|region| region.contains(span.low, length)) {
        return Ok(AccessedMemory::Region(region));
    }
    if let Some(index) = turn.job.view.find(span.low)
        && regions[index].contains(span.low, length)
    {
        warp.hot = index;
        return Ok(AccessedMemory::Region(&regions[index]));
    }
    let mut each = [0; WARP];
    for lane in LaneBits(active) {
        match turn.job.view.find(addresses[lane]) {
            Some(index) if regions[index].contains(addresses[lane], bytes) => each[lane] = index as u32,
            _ => return stray(turn, lane, addresses[lane], bytes),
        }
    }
    Ok(AccessedMemory::Regions(each))
}

/// Checks that the bytes at each active address lie within one array in shared memory.
#[inline(never)]
fn within_arrays(
    warp: &mut Warp,
    arrays: &[Range<u64>],
    addresses: &[u64; WARP],
    active: u32,
    bytes: u64,
) -> StepResult {
    for lane in LaneBits(active) {
        let address = addresses[lane];
        let index = arrays.partition_point(|array| array.end <= address);
        let holds = |array: &Range<u64>| array.start <= address && address + bytes <= array.end;
        if !arrays.get(index).is_some_and(holds) {
            return trouble(lane, FaultKind::BetweenArrays { address, bytes });
        }
        warp.hot_array = index;
    }
    Ok(())
}

#[cold]
fn misaligned<T>(space: Space, addresses: &[u64; WARP], active: u32, bytes: u64) -> StepResult<T> {
    let lane = LaneBits(active).find(|&lane| addresses[lane] & (bytes - 1) != 0).unwrap_or_default();
    trouble(lane, FaultKind::Misaligned { space, address: addresses[lane], bytes })
}

#[cold]
fn outside<T>(space: Space, addresses: &[u64; WARP], active: u32, bytes: u64, size: u64) -> StepResult<T> {
    let fits = |address: u64| address.checked_add(bytes).is_some_and(|end| end <= size);
    let lane = LaneBits(active).find(|&lane| !fits(addresses[lane])).unwrap_or_default();
    trouble(lane, FaultKind::Window { space, address: addresses[lane], bytes, size })
}

#[cold]
fn stray<T>(turn: &WarpTurn<'_, '_>, lane: usize, address: u64, bytes: u64) -> StepResult<T> {
    let known = turn.job.memory.diagnose(turn.job.device, address, bytes);
    // Memory allocated after the launch began is none of its business.
    let unmapped = MemoryFault { address, bytes, problem: MemoryProblem::Unmapped };
    trouble(lane, FaultKind::Memory(known.unwrap_or(unmapped)))
}

/// Puts `f(lane)` into the active lanes of a register.
#[inline(always)]
fn scatter(regs: &mut Regs, slot: Slot, active: u32, f: impl Fn(usize) -> u64) {
    match slot {
        Slot::W32(reg) => {
            let d = &mut regs.w32[reg as usize].0;
            if active == FULL {
                d.iter_mut().enumerate().for_each(|(lane, d)| *d = f(lane) as u32);
            } else {
                LaneBits(active).for_each(|lane| d[lane] = f(lane) as u32);
            }
        }
        Slot::W64(reg) => {
            let d = &mut regs.w64[reg as usize].0;
            LaneBits(active).for_each(|lane| d[lane] = f(lane));
        }
        Slot::Narrow(..) | Slot::None => LaneBits(active).for_each(|lane| regs.set_lane(slot, lane, f(lane))),
    }
}

/// A little-endian word of `width` bytes.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize, width: u8) -> u64 {
    match width {
        1 => bytes[at].into(),
        2 => u16::from_le_bytes([bytes[at], bytes[at + 1]]).into(),
        4 => u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default()).into(),
        _ => u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default()),
    }
}

/// A word of a region.
///
/// # Safety
/// [`check`] has found the word aligned and inside the region.
#[inline(always)]
unsafe fn region_word(region: &MemoryRegion, address: u64, width: u8) -> u64 {
    let at = address - region.info.base;
    // SAFETY: the caller's contract; regions start at a multiple of 8 in either address space.
    unsafe {
        match width {
            1 => region.storage.load::<u8>(at).into(),
            2 => region.storage.load::<u16>(at).into(),
            4 => region.storage.load::<u32>(at).into(),
            _ => region.storage.load::<u64>(at),
        }
    }
}

/// Stores a word in a region.
///
/// # Safety
/// As [`region_word`].
#[inline(always)]
unsafe fn set_region_word(region: &MemoryRegion, address: u64, width: u8, value: u64) {
    let at = address - region.info.base;
    // SAFETY: as in `region_word`.
    unsafe {
        match width {
            1 => region.storage.store(at, value as u8),
            2 => region.storage.store(at, value as u16),
            4 => region.storage.store(at, value as u32),
            _ => region.storage.store(at, value),
        }
    }
}

/// Sign extension of a loaded word.
#[inline(always)]
fn extend(value: u64, width: u8, signed: bool) -> u64 {
    match (width, signed) {
        (1, true) => i64::from(value as i8).cast_unsigned(),
        (2, true) => i64::from(value as i16).cast_unsigned(),
        (4, true) => i64::from(value as i32).cast_unsigned(),
        _ => value,
    }
}

/// Where the active lanes of a load or store go.
struct LaneAddresses<'a> {
    space: Space,
    active: u32,
    addresses: &'a [u64; WARP],
    memory: AccessedMemory<'a>,
}

/// Shows a load or a store to the checkers, where there are any.
#[inline(always)]
fn observe(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    access: &VectorAccess,
    places: &LaneAddresses<'_>,
    writes: bool,
) -> StepResult {
    if !turn.job.checked {
        return Ok(());
    }
    let &LaneAddresses { space, active, addresses, ref memory } = places;
    let bytes = u64::from(access.width) * u64::from(access.count);
    let (order, kind) = (access.order, Seen::access(access.order, writes));
    let regs = &access.regs[..access.count.into()];
    let seen = Seen { space, access: kind, reads: !writes, writes, order, active, addresses, bytes, memory, regs };
    turn.observe(warp, seen)
}

/// Calls the copy of a function for the width of an access.
macro_rules! by_width {
    ($function:ident($turn:expr, $warp:expr, $access:expr, $places:expr)) => {
        match $access.width {
            1 => $function::<1>($turn, $warp, $access, $places),
            2 => $function::<2>($turn, $warp, $access, $places),
            4 => $function::<4>($turn, $warp, $access, $places),
            _ => $function::<8>($turn, $warp, $access, $places),
        }
    };
}

/// `ld`.
#[inline(always)]
pub(super) fn load(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, access: &VectorAccess, active: u32) -> StepResult {
    let mut addresses = warp.regs.addresses(access.target);
    by_space(access.window, &mut addresses, active, |space, active, addresses| {
        let bytes = u64::from(access.width) * u64::from(access.count);
        let memory = check(turn, warp, space, addresses, active, bytes)?;
        let places = LaneAddresses { space, active, addresses, memory };
        observe(turn, warp, access, &places, false)?;
        // One copy of the loops per width keeps the width out of them; words are by far the most frequent.
        if access.width == 4 {
            load_width::<4>(turn, warp, access, &places);
        } else {
            load_other(turn, warp, access, &places);
        }
        Ok(())
    })
}

/// Loads of elements that need not be words.
fn load_other(turn: &WarpTurn<'_, '_>, warp: &mut Warp, access: &VectorAccess, places: &LaneAddresses<'_>) {
    by_width!(load_width(turn, warp, access, places));
}

#[inline(always)]
fn load_width<const WIDTH: u8>(
    turn: &WarpTurn<'_, '_>,
    warp: &mut Warp,
    access: &VectorAccess,
    places: &LaneAddresses<'_>,
) {
    let &LaneAddresses { space, active, addresses, ref memory } = places;
    let signed = access.signed;
    for (index, &slot) in access.regs.iter().enumerate().take(access.count.into()) {
        let at = index as u64 * u64::from(WIDTH);
        match memory {
            AccessedMemory::Region(region) => scatter(&mut warp.regs, slot, active, |lane| {
                // SAFETY: `memory` is what `check` said of these addresses.
                extend(unsafe { region_word(region, addresses[lane] + at, WIDTH) }, WIDTH, signed)
            }),
            AccessedMemory::Regions(each) => scatter(&mut warp.regs, slot, active, |lane| {
                let region = &turn.job.view.regions[each[lane] as usize];
                // SAFETY: as above, for the region of this lane.
                extend(unsafe { region_word(region, addresses[lane] + at, WIDTH) }, WIDTH, signed)
            }),
            AccessedMemory::Window => {
                let Warp { regs, local, .. } = &mut *warp;
                let (bytes, stride): (&[u8], usize) = match space {
                    Space::Shared => (&turn.core.shared, 0),
                    Space::Local => (local, turn.job.code.local as usize),
                    Space::Param | Space::Global => (turn.job.params, 0),
                };
                scatter(regs, slot, active, |lane| {
                    extend(word_at(bytes, lane * stride + (addresses[lane] + at) as usize, WIDTH), WIDTH, signed)
                });
            }
        }
    }
}

/// `st`.
#[inline(always)]
pub(super) fn store(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, access: &VectorAccess, active: u32) -> StepResult {
    let mut addresses = warp.regs.addresses(access.target);
    by_space(access.window, &mut addresses, active, |space, active, addresses| {
        let bytes = u64::from(access.width) * u64::from(access.count);
        if space == Space::Param {
            return outside(space, addresses, active, bytes, 0);
        }
        turn.changed = true;
        let memory = check(turn, warp, space, addresses, active, bytes)?;
        let places = LaneAddresses { space, active, addresses, memory };
        observe(turn, warp, access, &places, true)?;
        if access.width == 4 {
            store_width::<4>(turn, warp, access, &places);
        } else {
            store_other(turn, warp, access, &places);
        }
        Ok(())
    })
}

/// Calls `f` with each active lane's value of a register.
#[inline(always)]
fn gather(regs: &Regs, slot: Slot, active: u32, mut f: impl FnMut(usize, u64)) {
    match slot {
        Slot::W32(reg) | Slot::Narrow(reg, _) => {
            let a = &regs.w32[reg as usize].0;
            LaneBits(active).for_each(|lane| f(lane, a[lane].into()));
        }
        Slot::W64(reg) => {
            let a = &regs.w64[reg as usize].0;
            LaneBits(active).for_each(|lane| f(lane, a[lane]));
        }
        Slot::None => LaneBits(active).for_each(|lane| f(lane, 0)),
    }
}

/// Stores of elements that need not be words.
fn store_other(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, access: &VectorAccess, places: &LaneAddresses<'_>) {
    by_width!(store_width(turn, warp, access, places));
}

#[inline(always)]
fn store_width<const WIDTH: u8>(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    access: &VectorAccess,
    places: &LaneAddresses<'_>,
) {
    let &LaneAddresses { space, active, addresses, ref memory } = places;
    for (index, &slot) in access.regs.iter().enumerate().take(access.count.into()) {
        let at = index as u64 * u64::from(WIDTH);
        match memory {
            AccessedMemory::Region(region) => {
                if index == 0 && !turn.job.options.checks.uninitialised {
                    region.storage.forget_tracking();
                }
                gather(&warp.regs, slot, active, |lane, value| {
                    // SAFETY: `memory` is what `check` said of these addresses.
                    unsafe { set_region_word(region, addresses[lane] + at, WIDTH, value) };
                });
            }
            AccessedMemory::Regions(each) => gather(&warp.regs, slot, active, |lane, value| {
                let region = &turn.job.view.regions[each[lane] as usize];
                if !turn.job.options.checks.uninitialised {
                    region.storage.forget_tracking();
                }
                // SAFETY: as above, for the region of this lane.
                unsafe { set_region_word(region, addresses[lane] + at, WIDTH, value) };
            }),
            AccessedMemory::Window => {
                let Warp { regs, local, .. } = &mut *warp;
                let (bytes, stride): (&mut [u8], usize) = match space {
                    Space::Local => (local, turn.job.code.local as usize),
                    _ => (&mut turn.core.shared, 0),
                };
                gather(regs, slot, active, |lane, value| {
                    let start = lane * stride + (addresses[lane] + at) as usize;
                    let width = usize::from(WIDTH);
                    bytes[start..start + width].copy_from_slice(&value.to_le_bytes()[..width]);
                });
            }
        }
    }
}

/// Copies within the local memory of each active lane.
pub(super) fn move_local(warp: &mut Warp, copy: &LocalMove, active: u32) {
    let stride = warp.local.len() / WARP;
    for lane in LaneBits(active) {
        let (from, to) = (lane * stride + copy.from as usize, lane * stride + copy.to as usize);
        let bytes = copy.bytes as usize;
        warp.local.copy_within(from..from + bytes, to);
        if !warp.local_written.is_empty() {
            warp.local_written.copy_within(from..from + bytes, to);
        }
    }
}
