//! PTX in the making: instructions whose results each have a register of their own.

use core::fmt::{self, Display, Write as _};

/// A word of 32 bits: a register, or known while the text is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PtxWord {
    /// A register.
    Register(u32),
    /// A known value.
    Known(u32),
}

impl PtxWord {
    pub(super) const ZERO: Self = Self::Known(0);
}

impl Display for PtxWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(number) => write!(f, "%r{number}"),
            Self::Known(word) => write!(f, "{word}"),
        }
    }
}

/// A register of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PtxWide(u32);

impl Display for PtxWide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%rd{}", self.0)
    }
}

/// A register that holds the result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test(u32);

impl Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%p{}", self.0)
    }
}

/// An address in global memory: the content of a register, plus an offset in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address(pub(super) PtxWide, pub(super) u32);

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}+{}]", self.0, self.1)
    }
}

/// The body of a kernel in the making.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    body: String,
    words: u32,
    wides: u32,
    tests: u32,
}

impl Assembly {
    /// An instruction, written with its operands.
    pub(super) fn line(&mut self, text: impl Display) {
        let _infallible = writeln!(self.body, "\t{text};");
    }

    /// A place to branch to.
    pub(super) fn label(&mut self, name: &str) {
        let _infallible = writeln!(self.body, "{name}:");
    }

    /// An instruction whose result is a word.
    pub(super) fn word(&mut self, opcode: &str, operands: &[&dyn Display]) -> PtxWord {
        self.words += 1;
        let target = PtxWord::Register(self.words);
        self.instruction(opcode, &target, operands);
        target
    }

    /// An instruction whose result has 64 bits.
    pub(super) fn wide(&mut self, opcode: &str, operands: &[&dyn Display]) -> PtxWide {
        self.wides += 1;
        let target = PtxWide(self.wides);
        self.instruction(opcode, &target, operands);
        target
    }

    /// A comparison.
    pub(super) fn test(&mut self, opcode: &str, operands: &[&dyn Display]) -> Test {
        self.tests += 1;
        let target = Test(self.tests);
        self.instruction(opcode, &target, operands);
        target
    }

    /// Loads four words that nothing writes, from a multiple of 16 bytes.
    pub(super) fn load_four(&mut self, address: Address) -> [PtxWord; 4] {
        let words = [1, 2, 3, 4].map(|k| PtxWord::Register(self.words + k));
        self.words += 4;
        let [a, b, c, d] = words;
        self.line(format_args!("ld.global.nc.v4.b32 {{{a}, {b}, {c}, {d}}}, {address}"));
        words
    }

    /// The declarations of all registers, and the body.
    pub(super) fn finish(self) -> String {
        let Self { body, words, wides, tests } = self;
        let (words, wides, tests) = (words + 1, wides + 1, tests + 1);
        format!("\t.reg .pred %p<{tests}>;\n\t.reg .b32 %r<{words}>;\n\t.reg .b64 %rd<{wides}>;\n{body}")
    }

    fn instruction(&mut self, opcode: &str, target: &dyn Display, operands: &[&dyn Display]) {
        let _infallible = write!(self.body, "\t{opcode} {target}");
        for operand in operands {
            let _infallible = write!(self.body, ", {operand}");
        }
        self.body.push_str(";\n");
    }
}
