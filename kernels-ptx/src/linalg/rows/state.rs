//! The running sum of a softmax, and its map of elements.

use super::super::{
    group::{Chunk, Group, Warp},
    real::Real,
};
use crate::dev::numeric::functions::{exp_nonpositive, log_of_parts};

/// Softmax or its logarithm.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// `exp(x)` over the sum.
    Softmax,
    /// Its logarithm.
    Log,
}

impl Kind {
    /// The result of an element that the mask leaves out.
    #[inline(always)]
    pub fn excluded(self) -> f32 {
        match self {
            Self::Softmax => 0.0,
            Self::Log => f32::NEG_INFINITY,
        }
    }

    /// What one element of a result `y` adds to the sum that the gradients of its row share.
    #[inline(always)]
    pub fn contribution(self, y: f32, g: f32) -> f32 {
        match self {
            Self::Softmax => above_zero(y, y * g),
            Self::Log => live(y, g),
        }
    }

    /// The gradient of one element, given that sum.
    #[inline(always)]
    pub fn gradient(self, y: f32, g: f32, sum: f32) -> f32 {
        match self {
            Self::Softmax => above_zero(y, y * (g - sum)),
            Self::Log => live(y, g - exp_nonpositive(y) * sum),
        }
    }
}

/// `value`, but 0 where y is 0.
#[inline(always)]
fn above_zero(y: f32, value: f32) -> f32 {
    if y == 0.0 { 0.0 } else { value }
}

/// `value`, but 0 where y is -inf.
#[inline(always)]
fn live(y: f32, value: f32) -> f32 {
    if y < f32::MIN { 0.0 } else { value }
}

/// `sum exp(x - greatest) = ties + rest` over the elements so far.
///
/// `ties` counts the elements equal to the greatest, so that a sum near 1 loses nothing. NaN makes
/// the rest NaN.
#[derive(Clone, Copy)]
pub struct State {
    /// The greatest element.
    pub greatest: f32,
    /// The sum over the other elements.
    pub rest: f32,
    /// How many elements are the greatest.
    pub ties: f32,
}

impl State {
    /// No element.
    pub const EMPTY: Self = Self { greatest: f32::NEG_INFINITY, rest: 0.0, ties: 0.0 };

    /// Takes in an element.
    #[inline(always)]
    pub fn push(&mut self, x: f32) {
        let distance = x - self.greatest;
        let e = exp_nonpositive(if distance > 0.0 { -distance } else { distance });
        if x > self.greatest {
            *self = Self { greatest: x, rest: (self.rest + self.ties) * e, ties: 1.0 };
        } else if x == self.greatest {
            self.ties += 1.0;
        } else {
            self.rest += e;
        }
    }

    /// The same sum relative to `greatest`, which is at least its own greatest element.
    #[inline(always)]
    pub fn relative_to(self, greatest: f32) -> Self {
        if self.greatest < greatest {
            let rest = (self.rest + self.ties) * exp_nonpositive(self.greatest - greatest);
            return Self { greatest, rest, ties: 0.0 };
        }
        self
    }

    /// The state of the elements of both.
    #[inline(always)]
    pub fn with(self, other: Self) -> Self {
        let greatest = self.greatest.max(other.greatest);
        let (a, b) = (self.relative_to(greatest), other.relative_to(greatest));
        Self { greatest, rest: a.rest + b.rest, ties: a.ties + b.ties }
    }

    /// The state of all elements of a group; reductions 1 to 3 of the kernel.
    #[inline(always)]
    pub fn across<G: Group>(self) -> Self {
        let own = self.relative_to(G::max::<1>(self.greatest));
        Self { greatest: own.greatest, rest: G::sum::<2>(own.rest), ties: G::sum::<3>(own.ties) }
    }

    /// The row's map of elements; `any` is whether the row has an element that is not left out.
    #[inline(always)]
    pub fn finish(self, kind: Kind, any: bool) -> Finish {
        let special = if any { f32::NAN } else { kind.excluded() };
        let greatest = if self.greatest == f32::INFINITY { f32::NAN } else { self.greatest };
        let norm = match kind {
            Kind::Softmax => 1.0 / (self.ties + self.rest),
            Kind::Log => log_of_parts(self.rest, self.ties),
        };
        Finish { kind, greatest, norm, special }
    }
}

/// A thread's running sum over its chunks of a row, in parts.
///
/// Parts prevent rounding errors from growing with the length.
pub struct PartState {
    whole: State,
    part: State,
}

impl PartState {
    /// No element.
    pub const EMPTY: Self = Self { whole: State::EMPTY, part: State::EMPTY };

    /// Takes in the elements of a chunk.
    #[inline(always)]
    pub fn take<G: Group>(&mut self, chunk: Chunk, x: [f32; 4]) {
        chunk.each_live(x, |x| self.part.push(x));
        if G::SIZE > Warp::SIZE && chunk.ends_part() {
            self.whole = self.whole.with(self.part);
            self.part = State::EMPTY;
        }
    }

    /// The state of all elements of the group.
    #[inline(always)]
    pub fn across<G: Group>(self) -> State {
        let own = if G::SIZE > Warp::SIZE { self.whole.with(self.part) } else { self.part };
        own.across::<G>()
    }
}

/// What makes results of the elements of one row.
#[derive(Clone, Copy)]
pub struct Finish {
    kind: Kind,
    greatest: f32,
    norm: f32,
    special: f32,
}

impl Finish {
    /// The result of an element, given `e = exp(x - greatest)`.
    #[inline(always)]
    pub fn scaled(self, e: f32) -> f32 {
        if self.greatest == f32::NEG_INFINITY { self.special } else { e * self.norm }
    }

    /// The result of an element, one of type `T`.
    ///
    /// The logarithm of a finite one is finite: -inf means one that is left out.
    #[inline(always)]
    pub fn value<T: Real>(self, x: f32) -> f32 {
        let shifted = x - self.greatest;
        match self.kind {
            Kind::Softmax => self.scaled(exp_nonpositive(shifted)),
            Kind::Log if self.greatest == f32::NEG_INFINITY => self.special,
            Kind::Log => {
                let y = shifted - self.norm;
                if y < T::LOWEST && x > f32::NEG_INFINITY { T::LOWEST } else { y }
            }
        }
    }
}
