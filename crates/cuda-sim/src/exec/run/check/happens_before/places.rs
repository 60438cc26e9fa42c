//! What strong writes have released at a place in memory.

use std::rc::Rc;

use super::known::{GridKnowledge, join};

/// What was released at a place, and not overwritten since.
#[derive(Clone, Default)]
pub(in crate::exec::run::check) struct Released {
    /// To the whole grid.
    grid: Rc<GridKnowledge>,
    /// To the threads of one block.
    blocks: Vec<(u32, Rc<GridKnowledge>)>,
    /// To the whole grid, at the next sequential fence.
    before_fences: Rc<GridKnowledge>,
    /// Block and thread of the last write that was not a read-modify-write.
    by: Option<(u32, u16)>,
}

impl Released {
    pub(in crate::exec::run::check) fn is_empty(&self) -> bool {
        self.grid.is_empty() && self.blocks.is_empty() && self.before_fences.is_empty()
    }

    pub(super) fn in_grid(&self) -> &Rc<GridKnowledge> {
        &self.grid
    }

    pub(super) fn in_block(&self, block: u32) -> Option<&Rc<GridKnowledge>> {
        self.blocks.iter().find(|(of, _)| *of == block).map(|(_, known)| known)
    }

    pub(super) fn before_fences(&self) -> &Rc<GridKnowledge> {
        &self.before_fences
    }

    pub(super) fn add_before_fences(&mut self, known: &Rc<GridKnowledge>) {
        join(&mut self.before_fences, known);
    }

    /// Where a release to the grid, or to `block` only, goes.
    pub(super) fn target(&mut self, block: u32, wide: bool) -> &mut Rc<GridKnowledge> {
        if wide {
            return &mut self.grid;
        }
        let at = self.blocks.iter().position(|(of, _)| *of == block).unwrap_or_else(|| {
            self.blocks.push((block, Rc::default()));
            self.blocks.len() - 1
        });
        &mut self.blocks[at].1
    }

    /// Applies a strong store.
    ///
    /// Earlier releases here are gone, since their readers no longer read from them.
    pub(in crate::exec::run::check) fn overwrite(&mut self, by: (u32, u16)) {
        if self.by.replace(by) != Some(by) {
            (self.grid, self.blocks, self.before_fences) = Default::default();
        }
    }
}
