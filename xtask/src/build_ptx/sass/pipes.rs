//! Clocks that a scheduler's pipes are busy with the instructions of one warp.

use super::{banks, listing::Instruction};

/// Clocks by pipe. An instruction of an unlisted pipe counts in `issue` and `banks` alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    /// One for each instruction.
    pub(super) issue: u32,
    /// As `issue`, with the waits of multiplications for their operands.
    pub(super) banks: u32,
    /// Integer additions, logic, comparisons.
    pub(super) alu: u32,
    /// Multiplications of integers and all arithmetic of f32 and f16.
    pub(super) fma: u32,
    /// Memory accesses and shuffles, on a pipe that the four schedulers share.
    pub(super) memory: u32,
    /// Conversions and approximate functions.
    pub(super) special: u32,
    pub(super) double: u32,
    pub(super) tensor: u32,
}

/// Opcodes with 16 lanes for each scheduler.
const ALU: [&str; 30] = [
    "BMSK",
    "BREV",
    "F2FP",
    "FCHK",
    "FMNMX",
    "FMNMX3",
    "FSEL",
    "FSET",
    "FSETP",
    "I2FP",
    "IABS",
    "IADD",
    "IADD3",
    "ISETP",
    "LEA",
    "LOP3",
    "MOV",
    "P2R",
    "PLOP3",
    "PRMT",
    "R2P",
    "SEL",
    "SGXT",
    "SHF",
    "VABSDIFF",
    "VIADD",
    "VIADDMNMX",
    "VIMNMX",
    "VIMNMX3",
    "VOTE",
];

impl Clocks {
    /// The clocks of `instructions`, each executed once.
    pub(super) fn of(instructions: &[Instruction]) -> Self {
        let mut clocks = Self::default();
        for instruction in instructions {
            clocks.add(instruction);
        }
        clocks.banks = clocks.issue + banks::waits(instructions);
        clocks
    }

    fn add(&mut self, instruction: &Instruction) {
        let opcode = &*instruction.opcode;
        self.issue += 1;
        match instruction.name() {
            // Half rate: without it the counters of an H200 in docs/gpu-results do not add up.
            "IMAD" if opcode.starts_with("IMAD.WIDE") || opcode.starts_with("IMAD.HI") => self.fma += 4,
            "IMAD" => self.fma += 2,
            "FFMA" | "FADD" | "FMUL" | "HFMA2" | "HADD2" | "HMUL2" => self.fma += 1,
            "LDG" | "STG" | "LDS" | "STS" | "LDL" | "STL" | "LDGSTS" | "ATOMS" | "ATOMG" | "REDG" | "SHFL" => {
                self.memory += 4 * words(opcode);
            }
            "LDSM" => self.memory += if opcode.ends_with(".4") { 16 } else { 8 },
            "MUFU" | "F2F" | "F2I" | "I2F" | "FRND" | "POPC" | "FLO" => self.special += 8,
            "DADD" | "DMUL" | "DFMA" | "DSETP" => self.double += 2,
            "HMMA" if opcode.starts_with("HMMA.16816") => self.tensor += 4,
            "HMMA" => self.tensor += 2,
            name if ALU.contains(&name) => self.alu += 2,
            _ => {}
        }
    }

    /// The busiest pipe with its clocks: no warp is faster on the average.
    pub(super) fn bound(&self) -> (&'static str, u32) {
        let Self { issue, banks, alu, fma, memory, special, double, tensor } = *self;
        // The last of several equal ones.
        let pipes = [
            ("tensor", tensor),
            ("double", double),
            ("special", special),
            ("memory", memory),
            ("fma", fma),
            ("alu", alu),
            ("banks", banks),
            ("issue", issue),
        ];
        pipes.into_iter().max_by_key(|&(_, clocks)| clocks).unwrap_or_default()
    }
}

/// The 32-bit words that a lane moves.
fn words(opcode: &str) -> u32 {
    match opcode {
        _ if opcode.contains(".128") => 4,
        _ if opcode.contains(".64") => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pipe_has_its_clocks() {
        let opcodes = [
            "IMAD.WIDE.U32",
            "IMAD.MOV.U32",
            "FFMA",
            "LOP3.LUT",
            "LDS.128",
            "STG.E.64",
            "LDSM.16.M88.4",
            "MUFU.EX2",
            "DFMA",
            "HMMA.16816.F32",
            "EXIT",
        ];
        let instructions = opcodes.map(|opcode| Instruction { opcode: opcode.to_owned(), operands: Vec::new() });
        let clocks = Clocks::of(&instructions);
        let expected =
            Clocks { issue: 11, banks: 11, alu: 2, fma: 7, memory: 16 + 8 + 16, special: 8, double: 2, tensor: 4 };
        assert_eq!(clocks, expected);
        assert_eq!(clocks.bound(), ("memory", 40));
    }
}
