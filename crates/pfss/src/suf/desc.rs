//! Descriptors: piecewise polynomials with Boolean outputs, checked once.

use std::collections::HashSet;

use core_types::{MAX_PAYLOAD_WORDS, Ring};

use super::{BoolExpr, Pred, SufError};

/// One piece `start <= x < end` of a descriptor.
///
/// `end` is the start of the next piece or, for the last one, `2^n`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The first element.
    pub start: u64,
    /// For each output word, the coefficients of a polynomial in `x`, modulo `2^n`.
    ///
    /// The constant term is first. Missing coefficients are zero.
    pub polys: Vec<Vec<u64>>,
    /// A formula for each output bit.
    pub bools: Vec<BoolExpr>,
}

/// The parts of a descriptor, before they are checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SufSpec {
    /// Ring width of the input and of the output words in bits, 1 to 64.
    pub n: u32,
    /// The greatest degree of a polynomial.
    ///
    /// Public, and it decides sizes: zero coefficients count as well.
    pub degree: u32,
    /// Names of the output words.
    pub words: Vec<String>,
    /// Names of the output bits.
    pub bools: Vec<String>,
    /// The predicates that formulas name by position.
    pub preds: Vec<Pred>,
    /// The pieces, by increasing start; the first starts at 0.
    pub pieces: Vec<Piece>,
}

/// A checked descriptor: a function `F(x) = (P_i(x) mod 2^n, B_i(x))` of a secret `x`.
///
/// `i` is the piece of `x`. All of the descriptor is public. The shape of keys made for it depends
/// only on the descriptor, never on masks.
///
/// ```
/// use pfss::suf::{BoolExpr, Piece, Pred, SufDesc, SufSpec};
///
/// // max(x, 0) and the sign of x, for 8-bit x.
/// let piece = |start, slope| Piece { start, polys: vec![vec![0, slope]], bools: vec![BoolExpr::Var(0)] };
/// let relu = SufDesc::new(SufSpec {
///     n: 8,
///     degree: 1,
///     words: vec!["y".into()],
///     bools: vec!["sign".into()],
///     preds: vec![Pred::Msb],
///     pieces: vec![piece(0, 1), piece(128, 0)],
/// })?;
/// assert_eq!(relu.eval(5).words, [5]);
/// assert_eq!(relu.eval(251).words, [0]);
/// assert_eq!(relu.eval(251).bools, [true]);
/// # Ok::<(), pfss::suf::SufError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SufDesc {
    ring: Ring,
    spec: SufSpec,
}

/// The value of a descriptor at one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SufValue {
    /// One per word port, below `2^n`.
    pub words: Vec<u64>,
    /// One per bit port.
    pub bools: Vec<bool>,
}

impl SufDesc {
    /// The most pieces.
    pub const MAX_PIECES: usize = 256;
    /// The most predicates.
    pub const MAX_PREDS: usize = 64;
    /// The most word ports, and the most bit ports.
    pub const MAX_PORTS: usize = 16;
    /// The greatest degree.
    pub const MAX_DEGREE: u32 = MAX_PAYLOAD_WORDS as u32 - 1;
    /// The longest name of a port in bytes.
    pub const MAX_NAME: usize = 32;

    /// Checks a descriptor.
    ///
    /// # Errors
    /// The [`SufError`] of the first rule broken: ring, caps, ports, predicates, then piece after
    /// piece.
    pub fn new(spec: SufSpec) -> Result<Self, SufError> {
        let ring = Ring::new(spec.n).ok_or(SufError::RingWidth { got: spec.n })?;
        cap("degrees", Self::MAX_DEGREE as usize, spec.degree as usize)?;
        cap("word ports", Self::MAX_PORTS, spec.words.len())?;
        cap("bit ports", Self::MAX_PORTS, spec.bools.len())?;
        cap("predicates", Self::MAX_PREDS, spec.preds.len())?;
        cap("pieces", Self::MAX_PIECES, spec.pieces.len())?;
        check_ports(&spec)?;
        for (index, pred) in spec.preds.iter().enumerate() {
            pred.check(index, ring)?;
        }
        match spec.pieces.first() {
            None => return Err(SufError::NoPieces),
            Some(first) if first.start != 0 => return Err(SufError::FirstStart { got: first.start }),
            Some(_) => {}
        }
        for (index, piece) in spec.pieces.iter().enumerate() {
            check_piece(&spec, ring, index, piece)?;
        }
        Ok(Self { ring, spec })
    }

    /// A descriptor of one word, of a polynomial on each piece from its start on.
    pub(crate) fn of_polynomials(
        n: u32,
        degree: u32,
        word: &str,
        pieces: impl IntoIterator<Item = (u64, Vec<u64>)>,
    ) -> Result<Self, SufError> {
        let piece = |(start, poly)| Piece { start, polys: vec![poly], bools: Vec::new() };
        let (words, pieces) = (vec![word.to_owned()], pieces.into_iter().map(piece).collect());
        Self::new(SufSpec { n, degree, words, bools: Vec::new(), preds: Vec::new(), pieces })
    }

    /// The ring of input and output words.
    #[must_use]
    pub const fn ring(&self) -> Ring {
        self.ring
    }

    /// The greatest degree of a polynomial.
    #[must_use]
    pub const fn degree(&self) -> u32 {
        self.spec.degree
    }

    /// Names of the output words, in the order of the outputs.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.spec.words
    }

    /// Names of the output bits, in the order of the outputs.
    #[must_use]
    pub fn bools(&self) -> &[String] {
        &self.spec.bools
    }

    /// The predicates.
    #[must_use]
    pub fn preds(&self) -> &[Pred] {
        &self.spec.preds
    }

    /// The pieces, at least one, by increasing start.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.spec.pieces
    }

    /// The parts, for a changed copy.
    #[must_use]
    pub fn into_spec(self) -> SufSpec {
        self.spec
    }

    /// The function in the clear. Not for secrets: branches on `x`.
    #[must_use]
    pub fn eval(&self, x: u64) -> SufValue {
        let (ring, x) = (self.ring, self.ring.reduce(x));
        // the first piece starts at 0, so at least one starts at or below x
        let piece = &self.spec.pieces[self.spec.pieces.partition_point(|piece| piece.start <= x) - 1];
        let horner = |poly: &Vec<u64>| poly.iter().rev().fold(0, |sum, &c| ring.add(ring.mul(sum, x), c));
        let preds: Vec<bool> = self.spec.preds.iter().map(|pred| pred.holds(ring, x)).collect();
        SufValue {
            words: piece.polys.iter().map(horner).collect(),
            bools: piece.bools.iter().map(|formula| formula.eval(&preds)).collect(),
        }
    }
}

fn cap(what: &'static str, max: usize, got: usize) -> Result<(), SufError> {
    if got > max { Err(SufError::Cap { what, max, got }) } else { Ok(()) }
}

fn check_ports(spec: &SufSpec) -> Result<(), SufError> {
    let mut seen = HashSet::new();
    for (index, name) in spec.words.iter().chain(&spec.bools).enumerate() {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let reason = match name.len() {
            0 => "empty",
            len if len > SufDesc::MAX_NAME => "too long",
            _ if !name.bytes().all(plain) => "not made of a-z, 0-9 and _",
            _ if !seen.insert(name) => "taken",
            _ => continue,
        };
        return Err(SufError::Port { index, reason, got: name.clone() });
    }
    Ok(())
}

fn check_piece(spec: &SufSpec, ring: Ring, index: usize, piece: &Piece) -> Result<(), SufError> {
    let constant = |what, got| SufError::Constant { what, of: "piece", index, bits: ring.bits(), got };
    if piece.start > ring.mask() {
        return Err(constant("start", piece.start));
    }
    if let Some(previous) = index.checked_sub(1).map(|before| spec.pieces[before].start)
        && piece.start <= previous
    {
        return Err(SufError::StartOrder { piece: index, previous, got: piece.start });
    }
    for (what, expected, got) in
        [("polynomials", spec.words.len(), piece.polys.len()), ("formulas", spec.bools.len(), piece.bools.len())]
    {
        if expected != got {
            return Err(SufError::Outputs { what, piece: index, expected, got });
        }
    }
    let max = spec.degree as usize + 1;
    for (word, poly) in piece.polys.iter().enumerate() {
        if poly.len() > max {
            return Err(SufError::Degree { piece: index, word, max, got: poly.len() });
        }
        if let Some(&got) = poly.iter().find(|&&c| c > ring.mask()) {
            return Err(constant("coefficient", got));
        }
    }
    for (bit, formula) in piece.bools.iter().enumerate() {
        let mut nodes = 0;
        formula.walk(|node, depth| {
            nodes += 1;
            cap("nodes of a formula", BoolExpr::MAX_NODES, nodes)?;
            cap("levels of a formula", BoolExpr::MAX_DEPTH, depth)?;
            match node {
                BoolExpr::Var(got) if *got >= spec.preds.len() => {
                    Err(SufError::Variable { piece: index, bit, preds: spec.preds.len(), got: *got })
                }
                _ => Ok(()),
            }
        })?;
    }
    Ok(())
}
