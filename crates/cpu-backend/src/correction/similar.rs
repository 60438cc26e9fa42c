//! Nearest-neighbour search in a ring of states.
//!
//! Each task scans a part of the ring and keeps a list for each query.
//!
//! The similarity of a state `s` and a query `q` is `s q / (|s| |q|)`.

use backend_api::{BackendError, Buffer, Queue, ops::correction::SimilarStates};
use core_types::params::correction::{NO_STATE, Ring, SimilarParams, rank, ranked, similarity};

use super::product::product;
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// States of a task.
const PART: u64 = 4096;
/// States that are compared with all queries while they are in the first-level cache.
const BLOCK: u64 = 64;

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
        while from < to {
            let end = to.min(from + BLOCK);
            for (i, best) in self.words.chunks_exact_mut(count).enumerate() {
                let query = &self.queries[i * width..][..width];
                let norm = product(l, query, query).sqrt();
                for order in from..end {
                    let place = self.ring.place(order) as usize;
                    let scalar = product(l, &self.states[place * width..][..width], query);
                    insert(best, rank(similarity(scalar, self.norms[place], norm), order as u32));
                }
            }
            from = end;
        }
    }
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

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, op: SimilarStates<'_, CpuQueue>) -> Result<(), BackendError> {
    let SimilarStates { params, states, norms, stored, queries, places, similarities } = op;
    if places.is_empty() {
        return Ok(());
    }
    // Each part of the ring gives a list for each query.
    let ring = Ring::new(params.capacity, stored[0]);
    let len = places.len();
    let mut words = q.zeros::<u64>(ring.held.div_ceil(PART).max(1) as usize * len)?;
    q.for_chunks(words.view_mut(), len, |part, words| {
        let from = part as u64 * PART;
        let orders = [from, ring.held.min(from + PART)];
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
