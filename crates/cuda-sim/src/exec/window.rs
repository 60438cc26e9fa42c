//! Where the other state spaces lie in the generic address space.

use super::fault::Space;

/// Where shared memory appears in the generic address space.
const SHARED_WINDOW: u64 = 0x00fd_0000_0000_0000;
/// Where local memory appears in the generic address space.
const LOCAL_WINDOW: u64 = 0x00fe_0000_0000_0000;
/// Where kernel parameters appear in the generic address space.
const PARAM_WINDOW: u64 = 0x00ff_0000_0000_0000;
/// Size of each window.
const WINDOW: u64 = 1 << 32;

/// Generic address of the first byte of a space.
///
/// The generic space maps global memory to itself.
pub(super) const fn window_base(space: Space) -> u64 {
    match space {
        Space::Global => 0,
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
    }
}

/// The space a generic address belongs to, and the address within it.
#[inline(always)]
pub(super) fn resolve(generic: u64) -> (Space, u64) {
    for (base, space) in [(SHARED_WINDOW, Space::Shared), (LOCAL_WINDOW, Space::Local), (PARAM_WINDOW, Space::Param)] {
        if generic.wrapping_sub(base) < WINDOW {
            return (space, generic - base);
        }
    }
    (Space::Global, generic)
}
