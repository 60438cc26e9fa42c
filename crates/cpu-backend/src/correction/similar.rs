//! Nearest-neighbour search in a ring of states.
//!
//! Each task scans a part of the ring and keeps a list for each query. It compares groups of
//! states, and skips a group if no similarity is greater than the last one of the list.

use backend_api::{BackendError, Buffer, Queue, ops::correction::SimilarStates};
use core_types::params::correction::{NO_STATE, Ring, SimilarParams, rank, ranked};

use super::cosines::{GROUP, Query};
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The most states of a task.
const MOST: u64 = 8192;
/// The fewest states of a task, if the ring has that many: each task first fills its lists.
const FEWEST: u64 = 1024;
/// Tasks of a ring that is long enough for them, unless the most states need more tasks.
const TASKS: u64 = 4;
/// States that are compared with all queries while they are in the second-level cache.
const BLOCK: u64 = 128;

/// A search for the most similar states of orders `from..to`, for each query.
///
/// Its results are the words of these states, the greatest first, with zeros for missing states.
struct Search<'a> {
    params: &'a SimilarParams,
    ring: Ring,
    orders: [u64; 2],
    states: &'a [f32],
    norms: &'a [f32],
    queries: &'a [f32],
    words: &'a mut [u64],
}

impl<L: Floats> LaneKernel<L> for Search<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let (width, count) = (self.params.width as usize, self.params.count as usize);
        let [mut from, to] = self.orders;
        let mut sums = [[0.0; GROUP]; GROUP];
        while from < to {
            // The states of a block are neighbours: it ends where the ring does.
            let place = self.ring.place(from);
            let len = BLOCK.min(to - from).min(self.params.capacity - place);
            let states = &self.states[place as usize * width..][..len as usize * width];
            let norms = &self.norms[place as usize..][..len as usize];
            for (i, best) in self.words.chunks_exact_mut(count).enumerate() {
                let query = Query::new(l, &self.queries[i * width..][..width]);
                for (group, norms) in norms.chunks(GROUP).enumerate() {
                    let first = group * GROUP;
                    let states = &states[first * width..][..norms.len() * width];
                    let similarities = query.similarities(l, states, norms, &mut sums);
                    if exceeds(l, &similarities, best) {
                        for (&similarity, order) in similarities.iter().zip(from + first as u64..).take(norms.len()) {
                            insert(best, rank(similarity, order as u32));
                        }
                    }
                }
            }
            from += len;
        }
    }
}

/// Whether a similarity may belong in a list: one is greater than the last one of the list.
///
/// The states of the list are older, and so come before equal ones. A list that is not full, or
/// ends with NaN, may take any state.
#[inline(always)]
fn exceeds<L: Floats>(l: L, similarities: &[f32; GROUP], best: &[u64]) -> bool {
    let Some((least, _)) = ranked(best[best.len() - 1]) else {
        return true;
    };
    let mut greatest = l.splat(f32::NEG_INFINITY);
    for at in (0..GROUP).step_by(L::N) {
        greatest = l.max(l.load(&similarities[at..]), greatest); // without NaN
    }
    least.is_nan() || l.greatest(greatest) > least
}

/// Puts a word into a falling list, whose last one falls out.
#[inline(always)]
fn insert(best: &mut [u64], word: u64) {
    let last = best.len() - 1;
    if word <= best[last] {
        return;
    }
    let mut at = last;
    while at > 0 && best[at - 1] < word {
        best[at] = best[at - 1];
        at -= 1;
    }
    best[at] = word;
}

/// States of a task in a ring of `held` states.
///
/// Rings from twice the fewest states on are searched by two or more tasks, on any number of
/// threads.
fn part_states(held: u64) -> u64 {
    let tasks = (held / FEWEST).clamp(1, TASKS).max(held.div_ceil(MOST));
    held.div_ceil(tasks).next_multiple_of(BLOCK).max(BLOCK)
}

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, op: SimilarStates<'_, CpuQueue>) -> Result<(), BackendError> {
    let SimilarStates { params, states, norms, stored, queries, places, similarities } = op;
    if places.is_empty() {
        return Ok(());
    }
    // Each part of the ring gives a list for each query.
    let ring = Ring::new(params.capacity, stored[0]);
    let (len, states_of_part) = (places.len(), part_states(ring.held));
    let mut words = q.zeros::<u64>(ring.held.div_ceil(states_of_part).max(1) as usize * len)?;
    q.for_chunks(words.view_mut(), len, |part, words| {
        let from = part as u64 * states_of_part;
        let orders = [from, ring.held.min(from + states_of_part)];
        dispatch(q.simd(), Search { params, ring, orders, states, norms, queries, words });
    });
    // The lists of all parts merge into the first.
    let (best, others) = words.view_mut().split_at_mut(len);
    let count = params.count as usize;
    for part in others.chunks_exact(len) {
        for (best, words) in best.chunks_exact_mut(count).zip(part.chunks_exact(count)) {
            words.iter().for_each(|&word| insert(best, word));
        }
    }
    // A word holds a similarity and an order in the ring.
    for ((place, value), &word) in places.iter_mut().zip(similarities).zip(&*best) {
        (*place, *value) = match ranked(word) {
            Some((similarity, order)) => (ring.place(order.into()) as u32, similarity),
            None => (NO_STATE, 0.0),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_from_2048_states_on_have_several_parts_of_at_most_8192() {
        let parts = |held: u64| held.div_ceil(part_states(held));
        assert_eq!([1, 128, 1500, 2047].map(parts), [1; 4]);
        assert_eq!([2048, 3000, 4095, 4096, 4097, 8192, 32_768].map(parts), [2, 2, 3, 4, 4, 4, 4]);
        // Long rings have as few parts as possible.
        assert_eq!([40_000, 1 << 20].map(parts), [5, 128]);
        for held in (0..200_000).step_by(37) {
            let part = part_states(held);
            assert!(part <= MOST && (held < 2 * FEWEST || part < held), "{held}");
            assert_eq!(part % BLOCK, 0);
        }
    }
}
