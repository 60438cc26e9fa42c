//! Machine code as nvdisasm prints it: kernels, instructions and loops.

use std::{collections::BTreeMap, ops::RangeInclusive};

/// An instruction without its predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    /// With its modifiers: `IMAD.WIDE.U32`.
    pub(super) opcode: String,
    /// The target first.
    pub(super) operands: Vec<String>,
}

/// The machine code of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) kernel: String,
    pub(super) instructions: Vec<Instruction>,
    /// The instruction that follows each label.
    labels: BTreeMap<String, usize>,
}

impl Instruction {
    /// Reads `@!P0 FADD.FTZ R12, R0, 1`.
    fn parse(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if first.starts_with('@') {
            return Self::parse(rest.trim_start());
        }
        let operands = rest.split(',').map(|operand| operand.trim().to_owned()).filter(|operand| !operand.is_empty());
        (!first.is_empty()).then(|| Self { opcode: first.to_owned(), operands: operands.collect() })
    }

    /// The opcode without its modifiers: `IMAD`.
    pub(super) fn name(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// The label that a direct branch goes to.
    fn target(&self) -> Option<&str> {
        let last = self.operands.last().filter(|_| self.name() == "BRA")?;
        last.strip_prefix("`(")?.strip_suffix(')')
    }
}

impl Listing {
    /// Reads what `nvdisasm -c` prints of a cubin, by kernel.
    pub(super) fn read(text: &str) -> Vec<Self> {
        let mut listings: Vec<Self> = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(kernel) = line.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':')) {
                listings.push(Self { kernel: kernel.to_owned(), ..Self::default() });
                continue;
            }
            let Some(listing) = listings.last_mut() else { continue };
            if let Some(label) = line.strip_suffix(':').filter(|label| label.starts_with('.')) {
                listing.labels.insert(label.to_owned(), listing.instructions.len());
            } else if let Some(instruction) = instruction(line) {
                listing.instructions.push(instruction);
            }
        }
        listings
    }

    /// The loops that hold no other, by their first and last instruction.
    pub(super) fn loops(&self) -> Vec<RangeInclusive<usize>> {
        let backward = |(last, instruction): (usize, &Instruction)| {
            let first = *self.labels.get(instruction.target()?)?;
            // A branch to itself ends every kernel.
            (first < last).then_some((first, last))
        };
        // Several branches may lead back to one start: the last one ends the loop.
        let ends: BTreeMap<usize, usize> = self.instructions.iter().enumerate().filter_map(backward).collect();
        let all: Vec<_> = ends.into_iter().map(|(first, last)| first..=last).collect();
        let holds = |outer: &RangeInclusive<usize>, inner: &RangeInclusive<usize>| {
            outer != inner && outer.contains(inner.start()) && outer.contains(inner.end())
        };
        all.iter().filter(|outer| !all.iter().any(|inner| holds(outer, inner))).cloned().collect()
    }
}

/// Reads `/*0010*/ FADD R0, R1, R2 ;`.
///
/// A table of branch targets may follow the operands.
fn instruction(line: &str) -> Option<Instruction> {
    let (_, text) = line.strip_prefix("/*")?.split_once("*/")?;
    let text = text.trim().strip_suffix(';')?;
    let text = text.split_once("(*").map_or(text, |(text, _)| text);
    Instruction::parse(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        .section .text.first,\"ax\",@progbits
first:
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/              @!P0 IADD3 R2, R2.reuse, 0x1, RZ ;
.L_x_0:
        /*0020*/                   FFMA R0, R0, R1, R0 ;
        /*0030*/               @P1 BRA `(.L_x_0) ;
        /*0040*/                   BRX R26 -0x1560      (*\"BRANCH_TARGETS .L_x_0,.L_x_1\"*);
        /*0050*/                   BRA `(.L_x_1) ;
.L_x_2:
        /*0060*/                   BRA `(.L_x_2);
.text.second:
        /*0000*/                   EXIT ;
";

    #[test]
    fn a_loop_ends_at_the_last_branch_to_its_start() {
        let text = ".text.k:\n.L_x_0:\n/*00*/ FADD R0, R0, R1 ;\n/*10*/ @P0 BRA `(.L_x_0) ;\n\
            /*20*/ FMUL R0, R0, R1 ;\n/*30*/ @P1 BRA `(.L_x_0) ;\n/*40*/ EXIT ;\n";
        assert_eq!(Listing::read(text)[0].loops(), [0..=3]);
    }

    #[test]
    fn kernels_instructions_and_innermost_loops_are_read() {
        let listings = Listing::read(TEXT);
        let names: Vec<_> = listings.iter().map(|listing| (&*listing.kernel, listing.instructions.len())).collect();
        assert_eq!(names, [("first", 7), ("second", 1)]);
        let first = &listings[0];
        let add = &first.instructions[1];
        assert_eq!((add.name(), &*add.operands[1], add.operands.len()), ("IADD3", "R2.reuse", 4));
        assert_eq!(first.instructions[4].operands, ["R26 -0x1560"]);
        assert_eq!(first.loops(), [2..=3]);
    }
}
