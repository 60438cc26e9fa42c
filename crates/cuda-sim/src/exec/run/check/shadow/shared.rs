//! Access history of a block's shared memory, for races among its threads.

use super::granule::Granule;
use super::history::{ShadowCell, SpilledCells};
use super::races::Shadow;

/// A cell per granule: the width of the kernel's narrowest store, at most a word.
pub(in crate::exec::run) struct SharedShadow {
    granule: Granule,
    cells: Vec<ShadowCell>,
    rest: SpilledCells,
    serial: u32,
}

impl SharedShadow {
    pub(in crate::exec::run) fn new(bytes: u64, granule: u64) -> Self {
        let cells = vec![ShadowCell::NEW; bytes.div_ceil(granule) as usize];
        Self { granule: Granule::new(granule), cells, rest: SpilledCells::default(), serial: 0 }
    }
}

impl Shadow for SharedShadow {
    fn granule(&self) -> Granule {
        self.granule
    }

    fn serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    #[inline(always)]
    fn cell(&mut self, place: u64) -> (&mut ShadowCell, &mut SpilledCells) {
        (&mut self.cells[place as usize], &mut self.rest)
    }
}
