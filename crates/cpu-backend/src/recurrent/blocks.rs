//! Rows of tasks in arrays of all members and steps.

use core_types::params::recurrent::GruParams;

/// Most rows of a task: enough to use each weight that comes from the cache twice.
pub(super) const ROWS: usize = 16;

/// How the rows of a batch are dealt to tasks: some rows of a member each, member by member.
#[derive(Clone, Copy)]
pub(super) struct RowBlocks {
    pub(super) members: usize,
    pub(super) batch: usize,
    pub(super) steps: usize,
}

impl RowBlocks {
    pub(super) fn of(p: &GruParams) -> Self {
        let [members, batch, steps] = [p.members, p.batch, p.steps].map(|len| len as usize);
        Self { members, batch, steps }
    }

    /// Number of tasks.
    pub(super) fn count(self) -> usize {
        self.members * self.batch.div_ceil(ROWS)
    }

    /// Rows of a task, at most.
    pub(super) fn most_rows(self) -> usize {
        ROWS.min(self.batch)
    }

    /// The member and the first row of each task.
    pub(super) fn places(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.members).flat_map(move |member| (0..self.batch).step_by(ROWS).map(move |first| (member, first)))
    }

    /// The rows of each task in `[members, batch, width]`.
    pub(super) fn states(self, all: &mut [f32], width: usize) -> impl Iterator<Item = &mut [f32]> {
        all.chunks_mut(self.batch * width).flat_map(move |member| member.chunks_mut(ROWS * width))
    }

    /// Adds the rows of each task in `[members, steps, batch, width]`, step by step, to its list.
    pub(super) fn deal<'a>(self, all: &'a mut [f32], width: usize, lists: &mut [Vec<&'a mut [f32]>]) {
        let (blocks, step) = (self.batch.div_ceil(ROWS), self.batch * width);
        if all.is_empty() {
            return;
        }
        for (sequence, lists) in all.chunks_mut(self.steps * step).zip(lists.chunks_mut(blocks)) {
            for step in sequence.chunks_mut(step) {
                step.chunks_mut(ROWS * width).zip(&mut *lists).for_each(|(rows, list)| list.push(rows));
            }
        }
    }

    /// Bytes of lists of `per_step` entries for each task and step.
    pub(super) fn list_bytes(self, per_step: usize) -> u64 {
        (self.count() * self.steps * per_step * size_of::<&mut [f32]>()) as u64
    }

    /// Empty lists, one for each task.
    pub(super) fn lists<'a>(self) -> Vec<Vec<&'a mut [f32]>> {
        (0..self.count()).map(|_| Vec::new()).collect()
    }
}
