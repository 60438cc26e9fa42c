//! Access history of global memory, for races among all threads of a grid.

use std::collections::HashMap;

use super::granule::Granule;
use super::history::{ShadowCell, SpilledCells};
use super::races::Shadow;

/// Granules of one page.
const PAGE: u64 = 256;

/// A cell per granule that was touched.
pub(in crate::exec::run) struct GlobalShadow {
    granule: Granule,
    /// Index of each page in `cells`.
    pages: HashMap<u64, usize>,
    cells: Vec<Box<[ShadowCell]>>,
    /// The page that was used last, and its index.
    hot: (u64, usize),
    rest: SpilledCells,
    serial: u32,
}

impl GlobalShadow {
    pub(in crate::exec::run) fn new(granule: u64) -> Self {
        let (granule, hot) = (Granule::new(granule), (u64::MAX, 0));
        Self { granule, pages: HashMap::new(), cells: Vec::new(), hot, rest: SpilledCells::default(), serial: 0 }
    }
}

impl Shadow for GlobalShadow {
    fn granule(&self) -> Granule {
        self.granule
    }

    fn serial(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
    }

    #[inline(always)]
    fn cell(&mut self, place: u64) -> (&mut ShadowCell, &mut SpilledCells) {
        let page = place / PAGE;
        if self.hot.0 != page {
            let fresh = self.cells.len();
            let index = *self.pages.entry(page).or_insert(fresh);
            if index == fresh {
                self.cells.push(vec![ShadowCell::NEW; PAGE as usize].into());
            }
            self.hot = (page, index);
        }
        (&mut self.cells[self.hot.1][(place % PAGE) as usize], &mut self.rest)
    }
}
