//! Words of values, or of one share of them, and the local steps on them.
//!
//! Local steps are linear and need no keys. On words in host memory they run at once. On words that
//! an engine has placed they are recorded, and the engine runs them before its next call: values
//! can then be summed without an engine at hand.

pub(crate) mod device;
mod local;
mod place;

use core::{fmt, ops::Range};
use std::sync::Arc;

use pfss::Ring;

use self::{
    local::Local,
    place::{Place, Run},
};
use crate::InferenceError;

/// Words of a value, or of one share of it, in host memory or placed by the engine of a run.
///
/// An engine on a device places them in its memory. The words of a run belong to its engine, and no
/// other engine takes them.
#[derive(Clone, PartialEq, Eq)]
pub struct Words(Stored);

#[derive(Clone)]
enum Stored {
    Host(Vec<u64>),
    Placed(Arc<Place>),
}

/// Equal words in host memory, or the same placed words.
impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Host(words), Self::Host(others)) => words == others,
            (Self::Placed(place), Self::Placed(other)) => Arc::ptr_eq(place, other),
            _ => false,
        }
    }
}

impl Eq for Stored {}

impl From<Vec<u64>> for Words {
    fn from(words: Vec<u64>) -> Self {
        Self(Stored::Host(words))
    }
}

/// Shows the number: words may be secret.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Words {
    /// Number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Stored::Host(words) => words.len(),
            Stored::Placed(place) => place.len(),
        }
    }

    /// Whether the number is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words, if they are in host memory.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for words of a run on a device.
    pub fn on_host(&self) -> Result<&[u64], InferenceError> {
        self.host().map_err(|_| of_another_run("words in host memory"))
    }

    /// The words in host memory, or the run of placed words.
    fn host(&self) -> Result<&[u64], &Arc<Run>> {
        match &self.0 {
            Stored::Host(words) => Ok(words),
            Stored::Placed(place) => Err(place.run()),
        }
    }

    /// The place, if no other words are there.
    fn unshared(&self) -> Option<&Arc<Place>> {
        match &self.0 {
            Stored::Placed(place) if Arc::strong_count(place) == 1 => Some(place),
            _ => None,
        }
    }

    /// Both words in host memory, or the run of the first that are placed.
    ///
    /// The engine refuses the others if they are not of its run.
    fn both<'a>(&'a self, other: &'a Self) -> Result<[&'a [u64]; 2], &'a Arc<Run>> {
        Ok([self.host()?, other.host()?])
    }

    /// `self + other`, element by element.
    pub(crate) fn add(&self, other: &Self) -> Self {
        match self.both(other) {
            Ok([x, y]) => x.iter().zip(y).map(|(x, y)| x.wrapping_add(*y)).collect::<Vec<_>>().into(),
            Err(run) => run.record(Local::Sum([self.clone(), other.clone()])),
        }
    }

    /// `self - other`, element by element.
    pub(crate) fn sub(&self, other: &Self) -> Self {
        match self.both(other) {
            Ok([x, y]) => x.iter().zip(y).map(|(x, y)| x.wrapping_sub(*y)).collect::<Vec<_>>().into(),
            Err(run) => run.record(Local::Difference([self.clone(), other.clone()])),
        }
    }

    /// The sum of each row of `width` words, at least 1.
    pub(crate) fn row_sums(&self, width: usize) -> Self {
        let sum = |row: &[u64]| row.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
        match self.host() {
            Ok(words) => words.chunks_exact(width).map(sum).collect::<Vec<_>>().into(),
            Err(run) => run.record(Local::RowSums(self.clone(), width)),
        }
    }

    /// Each word `times` times in a row.
    pub(crate) fn repeated(&self, times: usize) -> Self {
        match self.host() {
            Ok(words) => words.iter().flat_map(|&word| core::iter::repeat_n(word, times)).collect::<Vec<_>>().into(),
            Err(run) => run.record(Local::Repeated(self.clone(), times)),
        }
    }

    /// All words `times` times, one copy after the other.
    pub(crate) fn tiled(&self, times: usize) -> Self {
        match self.host() {
            Ok(words) => words.repeat(times).into(),
            Err(run) => run.record(Local::Tiled(self.clone(), times)),
        }
    }

    /// Consecutive words.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        match self.host() {
            Ok(words) => words[range].to_vec().into(),
            Err(run) => run.record(Local::Slice(self.clone(), range)),
        }
    }

    /// These words, then `other`.
    pub(crate) fn followed_by(&self, other: &Self) -> Self {
        match self.both(other) {
            Ok([x, y]) => [x, y].concat().into(),
            Err(run) => run.record(Local::Joined([self.clone(), other.clone()])),
        }
    }

    /// The words of a row-major tensor of `shape` with its axes reordered.
    ///
    /// Axis `i` of the result is axis `order[i]`.
    pub(crate) fn permuted<const N: usize>(&self, shape: [usize; N], order: [usize; N]) -> Self {
        let words = match self.host() {
            Ok(words) => words,
            Err(run) => return run.record(Local::Permuted(self.clone(), [shape.to_vec(), order.to_vec()])),
        };
        let mut strides = [1; N];
        for axis in (1..N).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let position = |mut index: usize| {
            let mut position = 0;
            for &axis in order.iter().rev() {
                position += index % shape[axis] * strides[axis];
                index /= shape[axis];
            }
            position
        };
        (0..words.len()).map(|index| words[position(index)]).collect::<Vec<_>>().into()
    }

    /// The words in a range of each part of `part` words, at least 1.
    pub(crate) fn slices(&self, part: usize, range: Range<usize>) -> Self {
        match self.host() {
            Ok(words) => {
                let slices: Vec<&[u64]> = words.chunks_exact(part).map(|part| &part[range.clone()]).collect();
                slices.concat().into()
            }
            Err(_) if self.len() == part => self.slice(range),
            // The words of all parts at one place are consecutive in the transpose.
            Err(_) => {
                let (parts, len) = (self.len() / part, range.len());
                let columns = self.permuted([parts, part], [1, 0]).slice(range.start * parts..range.end * parts);
                columns.permuted([len, parts], [1, 0])
            }
        }
    }

    /// Of each part of `part` words, at least 1, the word at each place, or 0 for `None`.
    ///
    /// There are `count` places, and they are public.
    pub(crate) fn gathered(
        &self,
        part: usize,
        count: usize,
        places: impl Iterator<Item = Option<u32>> + Clone,
    ) -> Self {
        let parts = self.len() / part;
        match self.host() {
            Ok(words) => {
                let mut gathered = Vec::with_capacity(parts * count);
                for part in words.chunks_exact(part) {
                    let word = |place: Option<u32>| place.map_or(0, |place| part[place as usize]);
                    // faster than `extend` for nested iterators
                    places.clone().for_each(|place| gathered.push(word(place)));
                }
                gathered.into()
            }
            Err(run) => {
                let mut all = Vec::with_capacity(parts * count);
                for start in (0..parts).map(|index| index * part) {
                    // the step refuses words whose places do not fit 32 bits
                    let in_all = |place| (start + place as usize) as u32;
                    places.clone().for_each(|place| all.push(place.map(in_all)));
                }
                run.record(Local::Gathered(self.clone(), all))
            }
        }
    }

    /// `self` with `row` added to each of its rows, in `ring`, which is the ring of `self`.
    pub(crate) fn with_row(self, row: &Self, ring: Ring) -> Self {
        match (self.0, row.host()) {
            (Stored::Host(mut words), Ok(row)) => {
                for words in words.chunks_exact_mut(row.len().max(1)) {
                    words.iter_mut().zip(row).for_each(|(sum, word)| *sum = ring.add(*sum, *word));
                }
                words.into()
            }
            (Stored::Placed(x), _) => {
                let run = Arc::clone(x.run());
                run.record(Local::WithRow(Self(Stored::Placed(x)), row.clone()))
            }
            (x, Err(run)) => run.record(Local::WithRow(Self(x), row.clone())),
        }
    }

    /// `self` with these words of constants added in turn, from the first word on.
    ///
    /// They are this engine's: public, or zeros for the party that does not add them.
    pub(crate) fn with_constants(self, constants: &[u64]) -> Self {
        match self.0 {
            Stored::Host(mut words) => {
                words.iter_mut().zip(constants.iter().cycle()).for_each(|(word, add)| *word = word.wrapping_add(*add));
                words.into()
            }
            placed if constants.iter().all(|&word| word == 0) => Self(placed),
            Stored::Placed(place) => {
                let run = Arc::clone(place.run());
                run.record(Local::WithConstants(Self(Stored::Placed(place)), constants.to_vec()))
            }
        }
    }

    /// `self` times a public factor.
    pub(crate) fn scaled(self, factor: u64) -> Self {
        match self.0 {
            Stored::Host(mut words) => {
                words.iter_mut().for_each(|word| *word = word.wrapping_mul(factor));
                words.into()
            }
            placed if factor == 1 => Self(placed),
            Stored::Placed(place) => {
                let run = Arc::clone(place.run());
                run.record(Local::Scaled(Self(Stored::Placed(place)), factor))
            }
        }
    }
}

/// The refusal of words that the engine of this run does not have.
fn of_another_run(expected: &str) -> InferenceError {
    InferenceError::LayerValue {
        place: "value".to_owned(),
        expected: format!("a value of the same run, {expected}"),
        got: "a value of another run".to_owned(),
    }
}
