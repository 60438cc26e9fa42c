//! Rings of states, and searches for the most similar states.
//!
//! The rings are compared with a queue of states on the host.

use std::collections::VecDeque;

use backend_api::{
    BackendError, Buffer, Queue,
    ops::correction::{CorrectionOps, SimilarStates, StoreStates},
};
use core_types::params::correction::{NO_STATE, SimilarParams, StoreParams};

use crate::{
    Buf, Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _, spec::BATCHES,
};

/// A ring on the device with its expected contents, the oldest state first.
struct CorrectionRing {
    capacity: usize,
    width: usize,
    states: Buf<f32>,
    norms: Buf<f32>,
    known: Buf<f32>,
    stored: Buf<u64>,
    expected: VecDeque<(usize, Vec<f32>)>,
    count: usize,
}

impl CorrectionRing {
    fn new(q: &Conditioned, capacity: usize, width: usize) -> Result<Self, BackendError> {
        let nan = |len: usize| q.upload(&vec![f32::NAN; len]);
        let (states, norms, known) = (nan(capacity * width)?, nan(capacity)?, nan(3 * capacity)?);
        let (stored, expected) = (q.zeros(1)?, VecDeque::new());
        Ok(Self { capacity, width, states, norms, known, stored, expected, count: 0 })
    }

    /// Puts in rows of features; of state i are known i, i + 0.25 and i + 0.5.
    fn store(&mut self, q: &Conditioned, rows: &[f32]) -> Result<(), BackendError> {
        let count = rows.len() / self.width;
        let known: Vec<f32> = (self.count..self.count + count).flat_map(known).list();
        let (features, outcomes) = (q.upload(rows)?, q.upload(&known)?);
        let [capacity, width, new] = [self.capacity, self.width, count].map(|len| len as u64);
        q.store_states(StoreStates {
            params: &StoreParams { capacity, width, count: new },
            features: features.view(),
            outcomes: outcomes.view(),
            states: self.states.view_mut(),
            norms: self.norms.view_mut(),
            known: self.known.view_mut(),
            stored: self.stored.view_mut(),
        })?;
        for row in rows.chunks(self.width) {
            if self.expected.len() == self.capacity {
                self.expected.pop_front();
            }
            self.expected.push_back((self.count % self.capacity, row.to_vec()));
            self.count += 1;
        }
        Ok(())
    }

    /// Places and similarities of the `count` most similar states of each query.
    fn similar(&self, q: &Conditioned, queries: &[f32], count: usize) -> Result<(Vec<u32>, Vec<f32>), BackendError> {
        let number = queries.len() / self.width;
        let queries = q.upload(queries)?;
        let (mut places, mut similarities) = (q.alloc::<u32>(number * count)?, q.alloc::<f32>(number * count)?);
        let [capacity, width, number, count] = [self.capacity, self.width, number, count].map(|len| len as u64);
        q.similar_states(SimilarStates {
            params: &SimilarParams { capacity, width, queries: number, count },
            states: self.states.view(),
            norms: self.norms.view(),
            stored: self.stored.view(),
            queries: queries.view(),
            places: places.view_mut(),
            similarities: similarities.view_mut(),
        })?;
        Ok((q.download(&places)?, q.download(&similarities)?))
    }
}

fn known(i: usize) -> [f32; 3] {
    [0.0, 0.25, 0.5].map(|part| i as f32 + part)
}

fn length(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

/// The cosine of the angle between two states, by its definition.
fn cosine(x: &[f32], y: &[f32]) -> f64 {
    let product: f64 = x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
    let lengths = [length(x), length(y)];
    if lengths.iter().any(|&length| length < 1e-8) { 0.0 } else { product / (lengths[0] * lengths[1]) }
}

pub(super) fn specs() -> Vec<OpSpec> {
    // Places, features, and how many states go in at a time.
    let rings: [(usize, usize, &[usize]); 6] = [
        (1, 1, &[1, 1, 0, 1]),
        (5, 3, &[2, 2, 5, 1, 4]),
        (33, 64, &[33, 7, 20]),
        (64, 33, &[1, 63, 64]),
        (300, 5, &[257, 299]),
        (16, 130, &[9, 9]),
    ];
    let mut stores: Vec<Case> = Vec::new();
    for (capacity, width, counts) in rings {
        let name = format!("{counts:?} to {capacity} places of {width}");
        stores.push(Case::new(name, move |q| stored(q, capacity, width, counts)));
    }
    for count in BATCHES {
        stores.push(Case::new(format!("{count} at a time"), move |q| stored(q, 300, 4, &[count as usize; 2])));
    }
    stores.push(Case::new("refusals", refusals));
    // Places, features, states that went in, queries, and how many states are looked for.
    let sizes = [
        [1, 1, 1, 1, 1],
        [7, 3, 5, 2, 10],
        [40, 64, 0, 2, 4],
        [33, 64, 64, 3, 10],
        [300, 64, 1000, 2, 32],
        [257, 31, 257, 1, 10],
        [600, 100, 512, 3, 1],
        [2100, 33, 5000, 2, 10],
        [70, 0, 70, 2, 3],
        [9, 4, 9, 2, 0],
    ];
    let mut searches: Vec<Case> = Vec::new();
    for sizes in sizes {
        searches.push(Case::new(format!("{sizes:?}"), move |q| searched(q, sizes)));
    }
    for queries in BATCHES {
        let sizes = [20, 6, 33, queries as usize, 3];
        searches.push(Case::new(format!("{queries} queries"), move |q| searched(q, sizes)));
    }
    searches.push(Case::new("equal states", equal_states));
    searches.push(Case::new("what is not a number", not_numbers));
    vec![
        OpSpec { op: "correction.store_states", cases: stores },
        OpSpec { op: "correction.similar_states", cases: searches },
    ]
}

fn stored(q: &Conditioned, capacity: usize, width: usize, counts: &[usize]) -> Result<(), Failure> {
    let (mut ring, mut random) = (CorrectionRing::new(q, capacity, width)?, InputSource::new(width as u64));
    for &count in counts {
        ring.store(q, &random.reals::<f32>(count * width))?;
    }
    Failure::unless_equal(&[ring.count as u64], &q.download(&ring.stored)?)?;
    let (states, norms) = (q.download(&ring.states)?, q.download(&ring.norms)?);
    let of_ring = q.download(&ring.known)?;
    let first = ring.count - ring.expected.len();
    for (i, (place, state)) in ring.expected.iter().enumerate() {
        Failure::unless_equal(state, &states[place * width..][..width])?;
        Failure::unless_close(&[length(state)], &[norms[*place]], 1e-6, 0.0)?;
        Failure::unless_equal(&known(first + i), &of_ring[3 * place..][..3])?;
    }
    let untouched = capacity - ring.expected.len();
    if norms.iter().filter(|norm| norm.is_nan()).count() == untouched {
        return Ok(());
    }
    Err(Failure::Broken(format!("{untouched} of {norms:?} should be as they were")))
}

/// Checks the states that a search finds.
///
/// Their similarities are right, no other state is more similar, and they are in order.
fn searched(q: &Conditioned, [capacity, width, count, queries, k]: [usize; 5]) -> Result<(), Failure> {
    const BOUND: f64 = 1e-6;
    let (mut ring, mut random) = (CorrectionRing::new(q, capacity, width.max(1))?, InputSource::new(capacity as u64));
    if width == 0 {
        ring.width = 0;
        ring.states = q.zeros(0)?;
        return empty(q, &ring, queries, k);
    }
    for rows in random.reals::<f32>(count * width).chunks(capacity * width) {
        ring.store(q, rows)?;
    }
    let queries: Vec<f32> = random.reals(queries * width);
    let (places, similarities) = ring.similar(q, &queries, k)?;
    for ((query, places), got) in queries.chunks(width).zip(places.chunks(k.max(1))).zip(similarities.chunks(k.max(1)))
    {
        let cosines: Vec<f64> = ring.expected.iter().map(|(_, state)| cosine(state, query)).list();
        let order = |place: u32| ring.expected.iter().position(|(at, _)| *at == place as usize);
        let found: Vec<usize> = places.iter().filter_map(|&place| order(place)).list();
        let expected = cosines.len().min(k);
        if found.len() != expected || places[expected..].iter().any(|&place| place != NO_STATE) {
            return Err(Failure::Broken(format!("{expected} of {k} places should be those of states: {places:?}")));
        }
        Failure::unless_equal(&vec![0.0; k - expected], &got[expected..])?;
        let got = &got[..expected];
        Failure::unless_close(&found.iter().map(|&i| cosines[i]).list(), got, 0.0, BOUND)?;
        let in_order = |i: usize| got[i] > got[i + 1] || (got[i] == got[i + 1] && found[i] < found[i + 1]);
        if let Some(i) = (0..expected.saturating_sub(1)).find(|&i| !in_order(i)) {
            return Err(Failure::Broken(format!("the order of places {i} and the next: {places:?}, {got:?}")));
        }
        let least = got.last().map_or(f64::INFINITY, |&x| f64::from(x));
        let missed = |i: &usize| !found.contains(i) && cosines[*i] > least + BOUND;
        if let Some(i) = (0..cosines.len()).find(missed) {
            return Err(Failure::Broken(format!("state {i}, as similar as {}, is missing: {got:?}", cosines[i])));
        }
    }
    Ok(())
}

/// States without features are all alike.
fn empty(q: &Conditioned, ring: &CorrectionRing, queries: usize, k: usize) -> Result<(), Failure> {
    let (mut places, mut similarities) = (q.alloc::<u32>(queries * k)?, q.alloc::<f32>(queries * k)?);
    let (norms, stored) = (q.zeros::<f32>(ring.capacity)?, q.upload(&[ring.capacity as u64 + 5])?);
    let [capacity, queries, count] = [ring.capacity, queries, k].map(|len| len as u64);
    q.similar_states(SimilarStates {
        params: &SimilarParams { capacity, width: 0, queries, count },
        states: ring.states.view(),
        norms: norms.view(),
        stored: stored.view(),
        queries: ring.states.view(),
        places: places.view_mut(),
        similarities: similarities.view_mut(),
    })?;
    let expected: Vec<u32> = (0..queries as u32).flat_map(|_| 5..5 + k as u32).list();
    Failure::unless_equal(&expected, &q.download(&places)?)?;
    Failure::unless_equal(&vec![0.0; expected.len()], &q.download(&similarities)?)
}

/// Checks the order of equal states, and similarities of zero vectors.
///
/// Among equal states, the oldest come first at any place in the ring. A zero vector is similar to
/// no other.
fn equal_states(q: &Conditioned) -> Result<(), Failure> {
    let mut ring = CorrectionRing::new(q, 600, 3)?;
    let rows: Vec<f32> = (0..900).flat_map(|i| if i % 90 == 5 { [0.0, 1.0, 1.0] } else { [0.0, 0.0, 1.0] }).list();
    for rows in rows.chunks(3 * 300) {
        ring.store(q, rows)?;
    }
    let (places, similarities) = ring.similar(q, &[0.0, 2.0, 2.0, 0.0, 0.0, 0.0], 9)?;
    // Of the states 300 to 899, those with 5 beyond a multiple of 90, then the oldest.
    let expected = [365, 455, 545, 635, 725, 815, 300, 301, 302].map(|i| i % 600);
    Failure::unless_equal(&expected, &places[..9])?;
    Failure::unless_equal(&core::array::from_fn::<u32, 9, _>(|i| 300 + i as u32), &places[9..])?;
    let half = 0.5f64.sqrt();
    let expected: Vec<f64> = [[1.0; 6].as_slice(), &[half; 3], &[0.0; 9]].concat();
    Failure::unless_close(&expected, &similarities, 0.0, 1e-6)
}

/// States with NaN come after all numbers, the oldest first.
fn not_numbers(q: &Conditioned) -> Result<(), Failure> {
    let mut ring = CorrectionRing::new(q, 8, 2)?;
    let nan = f32::NAN;
    ring.store(q, &[nan, 1.0, -1.0, 0.0, 1.0, 1.0, 1.0, nan, 0.0, 0.0])?;
    let (places, similarities) = ring.similar(q, &[1.0, 0.0], 7)?;
    Failure::unless_equal(&[2, 4, 1, 0, 3, NO_STATE, NO_STATE], &places)?;
    let expected = [0.5f64.sqrt(), 0.0, -1.0, f64::NAN, f64::NAN, 0.0, 0.0];
    Failure::unless_close(&expected, &similarities, 0.0, 1e-6)?;
    let (places, similarities) = ring.similar(q, &[nan, 0.0], 3)?;
    // The state of zeros is like no other, even like this.
    Failure::unless_equal(&[4, 0, 1], &places)?;
    Failure::unless_close(&[0.0, f64::NAN, f64::NAN], &similarities, 0.0, 0.0)
}

fn refusals(q: &Conditioned) -> Result<(), Failure> {
    let mut ring = CorrectionRing::new(q, 3, 2)?;
    Failure::unless_refused("more states than places", ring.store(q, &[0.0; 8]))?;
    Failure::unless_equal(&[0], &q.download(&ring.stored)?)?;
    Failure::unless_refused("33 similar states", ring.similar(q, &[0.0; 2], 33).map(drop))?;
    let mut none = CorrectionRing::new(q, 0, 2)?;
    Failure::unless_refused("a ring without places", none.store(q, &[]))?;
    Failure::unless_refused("a search without places", none.similar(q, &[0.0; 2], 1).map(drop))
}
