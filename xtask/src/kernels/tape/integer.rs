//! Operations on words of 32 bits.

use super::{Operation, Random, StepOperands, Tape, TapeStep};

/// The words below 2^32.
const MASK: u64 = 0xffff_ffff;

/// Constants that integer arithmetic tends to get wrong.
const EDGES: [u32; 12] = [0, 1, 2, 31, 32, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// An operation on words, signed where its name states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum IntOp {
    Add,
    Sub,
    Mul,
    MulHigh,
    MulHighSigned,
    Neg,
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    RotateLeft,
    Min,
    Max,
    MinSigned,
    MaxSigned,
    Divide,
    Remainder,
    DivideSigned,
    AbsDiff,
    SaturatingAdd,
    SaturatingSub,
    CountOnes,
    LeadingZeros,
    TrailingZeros,
    ReverseBits,
    SwapBytes,
    Funnel,
    Select,
}

/// All of them; sums, products and exclusive ors twice.
pub(in super::super) const INTEGER: [IntOp; 34] = [
    IntOp::Add,
    IntOp::Add,
    IntOp::Sub,
    IntOp::Mul,
    IntOp::Mul,
    IntOp::MulHigh,
    IntOp::MulHighSigned,
    IntOp::Neg,
    IntOp::And,
    IntOp::Or,
    IntOp::Xor,
    IntOp::Xor,
    IntOp::Not,
    IntOp::ShiftLeft,
    IntOp::ShiftRight,
    IntOp::ShiftRightSigned,
    IntOp::RotateLeft,
    IntOp::Min,
    IntOp::Max,
    IntOp::MinSigned,
    IntOp::MaxSigned,
    IntOp::Divide,
    IntOp::Remainder,
    IntOp::DivideSigned,
    IntOp::AbsDiff,
    IntOp::SaturatingAdd,
    IntOp::SaturatingSub,
    IntOp::CountOnes,
    IntOp::LeadingZeros,
    IntOp::TrailingZeros,
    IntOp::ReverseBits,
    IntOp::SwapBytes,
    IntOp::Funnel,
    IntOp::Select,
];

impl Operation for IntOp {
    fn arity(self) -> usize {
        match self {
            Self::Neg
            | Self::Not
            | Self::CountOnes
            | Self::LeadingZeros
            | Self::TrailingZeros
            | Self::ReverseBits
            | Self::SwapBytes => 1,
            Self::Funnel => 3,
            Self::Select => 4,
            _ => 2,
        }
    }

    fn text(self, operands: &[String]) -> String {
        let form = match self {
            Self::Add => "{a}.wrapping_add({b})",
            Self::Sub => "{a}.wrapping_sub({b})",
            Self::Mul => "{a}.wrapping_mul({b})",
            Self::MulHigh => "((u64::from({a}) * u64::from({b})) >> 32) as u32",
            Self::MulHighSigned => "((i64::from({a} as i32) * i64::from({b} as i32)) >> 32) as u32",
            Self::Neg => "{a}.wrapping_neg()",
            Self::And => "{a} & {b}",
            Self::Or => "{a} | {b}",
            Self::Xor => "{a} ^ {b}",
            Self::Not => "!{a}",
            Self::ShiftLeft => "{a}.wrapping_shl({b})",
            Self::ShiftRight => "{a}.wrapping_shr({b})",
            Self::ShiftRightSigned => "({a} as i32).wrapping_shr({b}) as u32",
            Self::RotateLeft => "{a}.rotate_left({b} & 31)",
            Self::Min => "{a}.min({b})",
            Self::Max => "{a}.max({b})",
            Self::MinSigned => "({a} as i32).min({b} as i32) as u32",
            Self::MaxSigned => "({a} as i32).max({b} as i32) as u32",
            Self::Divide => "{a} / ({b} | 1)",
            Self::Remainder => "{a} % ({b} | 1)",
            Self::DivideSigned => "({a} as i32).wrapping_div({b} as i32 | 1) as u32",
            Self::AbsDiff => "{a}.abs_diff({b})",
            Self::SaturatingAdd => "{a}.saturating_add({b})",
            Self::SaturatingSub => "{a}.saturating_sub({b})",
            Self::CountOnes => "{a}.count_ones()",
            Self::LeadingZeros => "{a}.leading_zeros()",
            Self::TrailingZeros => "{a}.trailing_zeros()",
            Self::ReverseBits => "{a}.reverse_bits()",
            Self::SwapBytes => "{a}.swap_bytes()",
            Self::Funnel => "((u64::from({a}) << 32 | u64::from({b})) >> ({c} & 31)) as u32",
            Self::Select => "if {a} < {b} { {c} } else { {d} }",
        };
        fill(form, operands)
    }

    fn read(word: &str) -> String {
        word.to_owned()
    }

    fn write(value: &str) -> String {
        value.to_owned()
    }

    fn literal(bits: u32) -> String {
        format!("{bits:#x}_u32")
    }

    fn constant(random: &mut Random) -> u32 {
        word(random)
    }
}

/// The form with operands in place of `{a}` to `{d}`.
pub(super) fn fill(form: &str, operands: &[String]) -> String {
    let places = ["{a}", "{b}", "{c}", "{d}"];
    places.iter().zip(operands).fold(form.to_owned(), |text, (place, operand)| text.replace(place, operand))
}

/// A random word: small, at an edge, or of any size.
pub(in super::super) fn word(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => random.below(100) as u32,
        1 => random.of(&EDGES),
        _ => (random.word() >> 32) as u32,
    }
}

/// The word as a signed number.
fn signed(word: u64) -> i64 {
    if word >> 31 == 0 { word as i64 } else { word as i64 - (1 << 32) }
}

/// Bit `index` of a word, from the lowest.
fn bit(word: u64, index: u32) -> u64 {
    word >> index & 1
}

impl IntOp {
    /// The result for these words, computed in 64 bits.
    pub(in super::super) fn evaluate(self, words: &[u32]) -> u32 {
        let operand = |index: usize| words.get(index).copied().map_or(0, u64::from);
        let (a, b, c, d) = (operand(0), operand(1), operand(2), operand(3));
        let shift = b & 31;
        let wrapped = |number: i64| number as u64 & MASK;
        let result = match self {
            Self::Add => (a + b) & MASK,
            Self::Sub => (a + (1 << 32) - b) & MASK,
            Self::Mul => (a * b) & MASK,
            Self::MulHigh => (a * b) >> 32,
            Self::MulHighSigned => wrapped((signed(a) * signed(b)) >> 32),
            Self::Neg => ((1 << 32) - a) & MASK,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Not => MASK - a,
            Self::ShiftLeft => a << shift & MASK,
            Self::ShiftRight => a >> shift,
            Self::ShiftRightSigned => wrapped(signed(a) >> shift),
            Self::RotateLeft => (a << shift | a >> (32 - shift)) & MASK,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::MinSigned => wrapped(signed(a).min(signed(b))),
            Self::MaxSigned => wrapped(signed(a).max(signed(b))),
            Self::Divide => a / (b | 1),
            Self::Remainder => a % (b | 1),
            Self::DivideSigned => wrapped(signed(a) / (signed(b) | 1)),
            Self::AbsDiff => a.max(b) - a.min(b),
            Self::SaturatingAdd => (a + b).min(MASK),
            Self::SaturatingSub => a - a.min(b),
            Self::CountOnes => (0..32).map(|index| bit(a, index)).sum(),
            Self::LeadingZeros => (0..32).take_while(|index| bit(a, 31 - index) == 0).count() as u64,
            Self::TrailingZeros => (0..32).take_while(|&index| bit(a, index) == 0).count() as u64,
            Self::ReverseBits => (0..32).map(|index| bit(a, index) << (31 - index)).sum(),
            Self::SwapBytes => (0..4).map(|index| (a >> (8 * index) & 0xff) << (24 - 8 * index)).sum(),
            Self::Funnel => (a << 32 | b) >> (c & 31) & MASK,
            Self::Select => {
                if a < b {
                    c
                } else {
                    d
                }
            }
        };
        result as u32
    }
}

impl Tape<IntOp> {
    /// The outputs for these inputs.
    pub(in super::super) fn evaluate(&self, inputs: &[u32]) -> Vec<u32> {
        let mut values: Vec<u32> = Vec::new();
        for step in &self.steps {
            let value = match step {
                TapeStep::Input(index) => inputs[*index as usize],
                TapeStep::Constant(bits) => *bits,
                TapeStep::Apply(op, operands) => apply(*op, operands, &values),
            };
            values.push(value);
        }
        self.outputs.iter().map(|&output| values[output]).collect()
    }
}

/// The result of a step whose operands are among `values`.
pub(in super::super) fn apply(op: IntOp, operands: &StepOperands, values: &[u32]) -> u32 {
    let words: Vec<u32> = operands[..op.arity()].iter().map(|&operand| values[operand]).collect();
    op.evaluate(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of Rust's operators, which the text uses.
    fn by_operators(op: IntOp, a: u32, b: u32, c: u32, d: u32) -> u32 {
        match op {
            IntOp::Add => a.wrapping_add(b),
            IntOp::Sub => a.wrapping_sub(b),
            IntOp::Mul => a.wrapping_mul(b),
            IntOp::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            IntOp::MulHighSigned => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
            IntOp::Neg => a.wrapping_neg(),
            IntOp::And => a & b,
            IntOp::Or => a | b,
            IntOp::Xor => a ^ b,
            IntOp::Not => !a,
            IntOp::ShiftLeft => a.wrapping_shl(b),
            IntOp::ShiftRight => a.wrapping_shr(b),
            IntOp::ShiftRightSigned => (a as i32).wrapping_shr(b) as u32,
            IntOp::RotateLeft => a.rotate_left(b & 31),
            IntOp::Min => a.min(b),
            IntOp::Max => a.max(b),
            IntOp::MinSigned => (a as i32).min(b as i32) as u32,
            IntOp::MaxSigned => (a as i32).max(b as i32) as u32,
            IntOp::Divide => a / (b | 1),
            IntOp::Remainder => a % (b | 1),
            IntOp::DivideSigned => (a as i32).wrapping_div(b as i32 | 1) as u32,
            IntOp::AbsDiff => a.abs_diff(b),
            IntOp::SaturatingAdd => a.saturating_add(b),
            IntOp::SaturatingSub => a.saturating_sub(b),
            IntOp::CountOnes => a.count_ones(),
            IntOp::LeadingZeros => a.leading_zeros(),
            IntOp::TrailingZeros => a.trailing_zeros(),
            IntOp::ReverseBits => a.reverse_bits(),
            IntOp::SwapBytes => a.swap_bytes(),
            IntOp::Funnel => ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32,
            IntOp::Select => {
                if a < b {
                    c
                } else {
                    d
                }
            }
        }
    }

    #[test]
    fn evaluation_gives_the_results_of_rusts_operators_at_all_edges() {
        let mut random = Random::new(1);
        for op in INTEGER {
            for a in EDGES {
                for b in EDGES {
                    let (c, d) = (word(&mut random), word(&mut random));
                    let words = &[a, b, c, d][..op.arity()];
                    assert_eq!(op.evaluate(words), by_operators(op, a, b, c, d), "{op:?} of {words:x?}");
                }
            }
        }
    }

    #[test]
    fn forms_have_a_place_for_each_operand() {
        let names = ["p", "q", "r", "s"].map(str::to_owned);
        for op in INTEGER {
            let text = op.text(&names[..op.arity()]);
            assert!(["{a}", "{b}", "{c}", "{d}"].iter().all(|place| !text.contains(place)), "{op:?}: {text}");
            assert!(names[..op.arity()].iter().all(|name| text.contains(&**name)), "{op:?}: {text}");
        }
        assert_eq!(IntOp::Select.text(&names), "if p < q { r } else { s }");
    }
}
