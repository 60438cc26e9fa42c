//! The public points and bits that answer questions about a secret.

use core_types::{
    Ring,
    params::share::{BitTerm, NO_ROW, Threshold},
};

use crate::{Interval, Predicate};

/// Which public points to evaluate and how to combine the shares.
///
/// `P(y)` stands for the XOR-shared `1[α <= y]` of the key, whose `α` is the mask `r` of `x`
/// (reduced to the key's domain).
///
/// These are the interval containment gates of Boyle et al. (EUROCRYPT 2021), arranged so that all
/// public constants are in the points and one key per secret serves every predicate.
pub(crate) struct ComparisonProgram {
    ring: Ring,
    /// The domain of the key.
    domain: Ring,
    /// Point `j` of element `e` is `x_hat[e] - offsets[j]` in the domain.
    offsets: Vec<u64>,
    terms: Vec<Term>,
}

/// One predicate: the sum of `P` at some points, optionally `<msb(r)>`, and public bits.
struct Term {
    points: Vec<usize>,
    msb_of_mask: bool,
    public: Vec<PublicBit>,
}

impl Term {
    fn new(points: Vec<usize>, public: PublicBit) -> Self {
        Self { points, msb_of_mask: false, public: vec![public] }
    }

    fn with_mask(points: Vec<usize>, public: PublicBit) -> Self {
        Self { msb_of_mask: true, ..Self::new(points, public) }
    }
}

/// A comparison that holds for every word, as a public bit of 1.
const ALWAYS: Threshold = Threshold { shift: 0, bound: 2, bits: 1, wanted: 1 };

/// The part of a predicate that both parties know; party 0 adds it.
#[derive(Clone, Copy)]
enum PublicBit {
    One,
    /// `x_hat < bound` in the domain.
    Below {
        bound: u64,
    },
    /// `x_hat - end > x_hat - start` in the ring.
    Ordered {
        start: u64,
        end: u64,
    },
    /// The top bit of `x_hat + c` in the ring, flipped if `flip` is 1.
    Top {
        c: u64,
        flip: u64,
    },
}

impl ComparisonProgram {
    /// The program of no predicates.
    pub(crate) fn empty(domain: Ring, ring: Ring) -> Self {
        Self { ring, domain, offsets: Vec::new(), terms: Vec::new() }
    }

    /// Adds a predicate, whose constants are checked.
    pub(crate) fn push(&mut self, predicate: Predicate) {
        let term = self.term(predicate);
        self.terms.push(term);
    }

    /// The program of one carry bit `1[x_hat mod 2^f < r mod 2^f]`.
    ///
    /// It runs on the low-bit key of a truncation gate.
    pub(crate) fn carry(domain: Ring, ring: Ring) -> Self {
        Self { ring, domain, offsets: vec![0], terms: vec![Term::new(vec![0], PublicBit::One)] }
    }

    /// The program of `x >= 0` without the shared top bit of the mask.
    ///
    /// The caller's bit mask already holds that bit.
    pub(crate) fn non_negative(domain: Ring, ring: Ring) -> Self {
        let public = PublicBit::Top { c: 0, flip: 0 };
        Self { ring, domain, offsets: vec![0], terms: vec![Term::new(vec![0], public)] }
    }

    /// The program of step functions of `x` in `domain`.
    ///
    /// Each has its value at 0 and the ascending points above 0 of its changes:
    /// `value ^ 1[x >= b] ^ ..`, with `1[x < b] = P(x_hat) ^ P(x_hat - b) ^ 1[x_hat < b]`.
    ///
    /// Unless `ordered`, `1[x_hat < b]` is left out: the evaluation of keys with hidden thresholds
    /// adds shares of whether `r + b` wrapped instead.
    pub(crate) fn steps<'a>(
        domain: Ring,
        ring: Ring,
        steps: impl Iterator<Item = (bool, &'a [u64])>,
        ordered: bool,
    ) -> Self {
        let mut program = Self::empty(domain, ring);
        for (initial, toggles) in steps {
            let odd = toggles.len() % 2 == 1;
            let mut points: Vec<usize> = if odd { vec![program.point(0)] } else { Vec::new() };
            points.extend(toggles.iter().map(|&toggle| program.point(toggle)));
            let mut public: Vec<PublicBit> = if initial ^ odd { vec![PublicBit::One] } else { Vec::new() };
            if ordered {
                public.extend(toggles.iter().map(|&bound| PublicBit::Below { bound }));
            }
            program.terms.push(Term { points, msb_of_mask: false, public });
        }
        program
    }

    /// The offset subtracted from `x_hat` at each point.
    pub(crate) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The domain of the key.
    pub(crate) fn domain(&self) -> Ring {
        self.domain
    }

    /// The sums for XOR shares of all predicates, one after the other.
    ///
    /// They do not include the top bit of the mask. The shares of point `j`, in the order of
    /// [`offsets`](Self::offsets), are in row `rows[j]`.
    pub(crate) fn sums(&self, rows: &[usize]) -> Vec<BitTerm> {
        let mut sums = Vec::new();
        for term in &self.terms {
            let first = sums.len();
            sums.extend(term.points.iter().map(|&point| row(rows[point] as u32)));
            sums.extend(term.public.iter().flat_map(|&bit| self.thresholds(bit)).map(public));
            if sums.len() == first {
                sums.push(row(NO_ROW));
            }
            if let Some(last) = sums.last_mut() {
                last.last = 1;
            }
        }
        sums
    }

    /// For each predicate, whether its shares include the shares of the mask's top bit.
    pub(crate) fn with_msb(&self) -> impl Iterator<Item = bool> {
        self.terms.iter().map(|term| term.msb_of_mask)
    }

    fn term(&mut self, predicate: Predicate) -> Term {
        let ring = self.ring;
        match predicate {
            Predicate::Lt { beta: bound } | Predicate::LowLt { gamma: bound } => {
                Term::new(vec![self.point(0), self.point(bound)], PublicBit::Below { bound })
            }
            Predicate::Interval(Interval { start, end }) => {
                // 2^n is 0 in the ring; for the whole ring the two points cancel and the bit is the constant 1
                let end = end.unwrap_or(0);
                let public = if start == end { PublicBit::One } else { PublicBit::Ordered { start, end } };
                Term::new(vec![self.point(start), self.point(end)], public)
            }
            Predicate::Wrap | Predicate::Borrow | Predicate::Carry => Term::new(vec![self.point(0)], PublicBit::One),
            Predicate::Msb { c } => Term::with_mask(vec![self.point(ring.neg(c))], PublicBit::Top { c, flip: 1 }),
            Predicate::NonNegative => Term::with_mask(vec![self.point(0)], PublicBit::Top { c: 0, flip: 0 }),
        }
    }

    /// The index of the point `x_hat - offset`, shared between predicates.
    fn point(&mut self, offset: u64) -> usize {
        self.offsets.iter().position(|&known| known == offset).unwrap_or_else(|| {
            self.offsets.push(offset);
            self.offsets.len() - 1
        })
    }

    /// Comparisons of `x_hat` whose outcomes add up to a public bit.
    fn thresholds(&self, bit: PublicBit) -> Vec<Threshold> {
        let ring = self.ring;
        let below = |shift, bound, ring: Ring| Threshold { shift, bound, bits: ring.bits(), wanted: 1 };
        match bit {
            PublicBit::One => vec![ALWAYS],
            PublicBit::Below { bound } => vec![below(0, bound, self.domain)],
            // `x_hat - end` is not below `start - end`, the part of the ring outside the interval
            PublicBit::Ordered { start, end } => vec![below(ring.neg(end), ring.sub(start, end), ring), ALWAYS],
            // the top bit is clear in the lower half
            PublicBit::Top { c, flip } => {
                let low = below(c, 1 << (ring.bits() - 1), ring);
                if flip == 1 { vec![low] } else { vec![low, ALWAYS] }
            }
        }
    }
}

/// The shares of row `row`, or nothing.
const fn row(row: u32) -> BitTerm {
    BitTerm { public: Threshold { shift: 0, bound: 0, bits: 0, wanted: 0 }, row, last: 0 }
}

/// A public bit.
const fn public(public: Threshold) -> BitTerm {
    BitTerm { public, row: NO_ROW, last: 0 }
}
