//! The only encoding of a descriptor.
//!
//! It is little-endian, with every number in 8 bytes and every name preceded by its length.
//!
//! ```text
//! n, degree, word ports, bit ports, predicates, pieces
//! names of the ports: length, bytes
//! predicates: tag, then 1 Lt: beta; 2 LtLow: f, gamma; 3 Msb; 4 MsbAdd: c
//! pieces: start; for each word the number of coefficients and the coefficients; for each bit the formula's nodes,
//!         operands after their operator: 0 false, 1 true, 2 Not, 3 Xor, 4 And, 5 Or, 6 + i the predicate i
//! ```
//!
//! A program is three numbers for its modes, in the order of [`SufModes`] (each counting the
//! variants from 0), then the number of bits that hold its inputs, then its descriptor.

use super::{
    BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufError, SufModes, SufProgram, SufSpec,
};

const FIRST_VARIABLE: u64 = 6;

impl SufDesc {
    /// The encoding, equal for equal descriptors and different for different ones.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let counts = [self.words().len(), self.bools().len(), self.preds().len(), self.pieces().len()];
        put(&mut out, u64::from(self.ring().bits()));
        put(&mut out, u64::from(self.degree()));
        counts.into_iter().for_each(|count| put(&mut out, count as u64));
        for name in self.words().iter().chain(self.bools()) {
            put(&mut out, name.len() as u64);
            out.extend_from_slice(name.as_bytes());
        }
        for pred in self.preds() {
            let fields = match *pred {
                Pred::Lt { beta } => vec![1, beta],
                Pred::LtLow { f, gamma } => vec![2, u64::from(f), gamma],
                Pred::Msb => vec![3],
                Pred::MsbAdd { c } => vec![4, c],
            };
            fields.into_iter().for_each(|field| put(&mut out, field));
        }
        for piece in self.pieces() {
            put(&mut out, piece.start);
            for poly in &piece.polys {
                put(&mut out, poly.len() as u64);
                poly.iter().for_each(|&c| put(&mut out, c));
            }
            piece.bools.iter().for_each(|formula| put_formula(&mut out, formula));
        }
        out
    }

    /// Reads and checks a descriptor.
    ///
    /// Total, and allocates at most a small multiple of `bytes.len()`.
    ///
    /// # Errors
    /// [`SufError::Truncated`], [`SufError::Tag`] or [`SufError::Trailing`] for bytes that are not
    /// an encoding, and as [`new`](Self::new).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SufError> {
        let mut reader = SufReader { left: bytes };
        let n = reader.small("ring width", 64)?;
        let degree = reader.small("degree", Self::MAX_DEGREE.into())?;
        let words = reader.count("word ports", Self::MAX_PORTS)?;
        let bools = reader.count("bit ports", Self::MAX_PORTS)?;
        let preds = reader.count("predicates", Self::MAX_PREDS)?;
        let pieces = reader.count("pieces", Self::MAX_PIECES)?;
        let spec = SufSpec {
            n,
            degree,
            words: (0..words).map(|_| reader.name()).collect::<Result<_, _>>()?,
            bools: (0..bools).map(|_| reader.name()).collect::<Result<_, _>>()?,
            preds: (0..preds).map(|_| reader.pred()).collect::<Result<_, _>>()?,
            pieces: (0..pieces).map(|_| reader.piece(words, bools, degree)).collect::<Result<_, _>>()?,
        };
        match reader.left.len() {
            0 => Self::new(spec),
            got => Err(SufError::Trailing { got }),
        }
    }
}

impl SufProgram {
    /// The encoding, equal for equal programs and different for different ones.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let SufModes { preds, coeffs, bools } = self.modes();
        let mut out = Vec::new();
        let bits = self.domain().bits().into();
        [preds as u64, coeffs as u64, bools as u64, bits].into_iter().for_each(|number| put(&mut out, number));
        out.extend(self.desc().to_bytes());
        out
    }

    /// Reads and compiles a program. Total.
    ///
    /// # Errors
    /// As [`SufDesc::from_bytes`] and [`new`](Self::new).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SufError> {
        let mut reader = SufReader { left: bytes };
        let modes = SufModes {
            preds: reader.mode("mode of predicates", &[PredProgram::SharedAlpha, PredProgram::StepDcf])?,
            coeffs: reader
                .mode("mode of coefficients", &[CoeffMode::StepDcf, CoeffMode::IntervalLut, CoeffMode::MaskedSelect])?,
            bools: reader.mode("mode of bits", &[BoolMode::XorPacked, BoolMode::Additive])?,
        };
        let bits = reader.small("input bits", 64)?;
        Self::with_bits(SufDesc::from_bytes(reader.left)?, modes, bits)
    }
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_formula(out: &mut Vec<u8>, formula: &BoolExpr) {
    put(
        out,
        match formula {
            BoolExpr::Const(value) => u64::from(*value),
            BoolExpr::Not(_) => 2,
            BoolExpr::Xor(..) => 3,
            BoolExpr::And(..) => 4,
            BoolExpr::Or(..) => 5,
            BoolExpr::Var(index) => FIRST_VARIABLE + *index as u64,
        },
    );
    formula.operands().into_iter().flatten().for_each(|operand| put_formula(out, operand));
}

struct SufReader<'a> {
    left: &'a [u8],
}

impl SufReader<'_> {
    fn number(&mut self, what: &'static str) -> Result<u64, SufError> {
        let Some((bytes, left)) = self.left.split_first_chunk::<8>() else {
            return Err(SufError::Truncated { what, expected: 8, got: self.left.len() });
        };
        self.left = left;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn mode<T: Copy>(&mut self, what: &'static str, modes: &[T]) -> Result<T, SufError> {
        let got = self.number(what)?;
        let mode = usize::try_from(got).ok().and_then(|at| modes.get(at));
        mode.copied().ok_or(SufError::Tag { what, got })
    }

    fn count(&mut self, what: &'static str, max: usize) -> Result<usize, SufError> {
        let got = usize::try_from(self.number(what)?).unwrap_or(usize::MAX);
        if got > max { Err(SufError::Cap { what, max, got }) } else { Ok(got) }
    }

    fn small(&mut self, what: &'static str, max: u64) -> Result<u32, SufError> {
        self.count(what, max as usize).map(|number| number as u32) // callers' caps are far below 2^32
    }

    fn name(&mut self) -> Result<String, SufError> {
        let len = self.count("bytes of a name", SufDesc::MAX_NAME)?;
        let Some((name, left)) = self.left.split_at_checked(len) else {
            return Err(SufError::Truncated { what: "a name", expected: len, got: self.left.len() });
        };
        self.left = left;
        // invalid UTF-8 is not a name either, and fails the check of names
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    fn pred(&mut self) -> Result<Pred, SufError> {
        Ok(match self.number("a predicate")? {
            1 => Pred::Lt { beta: self.number("a threshold")? },
            2 => Pred::LtLow { f: self.small("low bits", 64)?, gamma: self.number("a threshold")? },
            3 => Pred::Msb,
            4 => Pred::MsbAdd { c: self.number("a summand")? },
            got => return Err(SufError::Tag { what: "predicate", got }),
        })
    }

    fn piece(&mut self, words: usize, bools: usize, degree: u32) -> Result<Piece, SufError> {
        let start = self.number("a start")?;
        let mut poly = || {
            let len = self.count("coefficients", degree as usize + 1)?;
            (0..len).map(|_| self.number("a coefficient")).collect()
        };
        let polys = (0..words).map(|_| poly()).collect::<Result<_, _>>()?;
        let mut formula = || self.formula(&mut { BoolExpr::MAX_NODES }, BoolExpr::MAX_DEPTH);
        let bools = (0..bools).map(|_| formula()).collect::<Result<_, _>>()?;
        Ok(Piece { start, polys, bools })
    }

    /// Reads a formula of at most `nodes` nodes and `depth` levels.
    ///
    /// Its nodes are subtracted from `nodes`.
    fn formula(&mut self, nodes: &mut usize, depth: usize) -> Result<BoolExpr, SufError> {
        let over = |what, max| SufError::Cap { what, max, got: max + 1 };
        *nodes = nodes.checked_sub(1).ok_or(over("nodes of a formula", BoolExpr::MAX_NODES))?;
        let below = depth.checked_sub(1).ok_or(over("levels of a formula", BoolExpr::MAX_DEPTH))?;
        let tag = self.number("a formula")?;
        let mut operand = || self.formula(nodes, below);
        Ok(match tag {
            0 => BoolExpr::Const(false),
            1 => BoolExpr::Const(true),
            2 => !operand()?,
            3 => operand()? ^ operand()?,
            4 => operand()? & operand()?,
            5 => operand()? | operand()?,
            variable => {
                let index = usize::try_from(variable - FIRST_VARIABLE).unwrap_or(usize::MAX);
                if index >= SufDesc::MAX_PREDS {
                    return Err(SufError::Tag { what: "node of a formula", got: variable });
                }
                BoolExpr::Var(index)
            }
        })
    }
}
