//! Programs prepared for tiles: registers become planes of a tile.
//!
//! A plane is written once while any step reads it.
//!
//! Copies, constants, challenges and masks of the row at hand cost nothing: a register then stands
//! for a plane that is there already. Sums and products of the secure field with the base field are
//! lowered to coordinate operations.

use std::collections::HashMap;

use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

/// Positions of a tile: planes of 2 KiB, and 16 KiB of sums.
pub(super) const TILE: usize = 1 << 9;

/// Where a plane of words is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaneAt {
    /// In the tile's own memory.
    Tile(usize),
    /// The positions of the tile in the column of a mask.
    Column(usize),
}

/// An operation on whole planes. Targets are planes of the tile other than the operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlaneStep {
    /// Reads the column of a mask at one of the offsets of the program.
    Gather { target: usize, mask: usize, offset: usize },
    /// Sums.
    Add { target: usize, left: PlaneAt, right: PlaneAt },
    /// Differences.
    Sub { target: usize, left: PlaneAt, right: PlaneAt },
    /// Products.
    Mul { target: usize, left: PlaneAt, right: PlaneAt },
    /// Products of the secure field, by coordinates.
    MulSecure { target: [usize; 4], left: [PlaneAt; 4], right: [PlaneAt; 4] },
    /// Bits of integers: shifted to the right, then masked.
    Bits { target: usize, source: PlaneAt, shift: u32, mask: u32 },
    /// Exclusive ors of integers.
    Xor { target: usize, left: PlaneAt, right: PlaneAt },
    /// Adds one to the counter that each word of a plane is the number of.
    Count(PlaneAt),
    /// Adds planes times factors to the sums.
    Accumulate([Term; 4]),
    /// Writes a plane to a plane of the output.
    Write { source: PlaneAt, output: usize },
}

/// A plane times a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) plane: PlaneAt,
    pub(super) factor: QM31,
}

/// The use of a program's outputs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outputs<'a> {
    /// Each is multiplied by its power, and all are added up.
    Sum(&'a [QM31]),
    /// Each is written, four planes of coordinates.
    Write,
    /// Values of the base field: this many are written, a plane each, and the others are counted.
    Table(usize),
}

/// A program for tiles.
#[derive(Debug)]
pub(super) struct TileProgram {
    pub(super) steps: Vec<PlaneStep>,
    /// Planes of a tile.
    pub(super) planes: usize,
    /// Planes that hold one word everywhere.
    pub(super) fixed: Vec<(usize, M31)>,
    /// Offsets of masks that are not read where they are.
    pub(super) offsets: Vec<i32>,
}

/// The checked parts of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedProgram<'a> {
    pub(super) instructions: &'a [Instruction],
    pub(super) masks: &'a [MaskAt],
    pub(super) constants: &'a [M31],
    pub(super) challenges: &'a [QM31],
    pub(super) registers: u32,
    /// Whether columns hold whole tiles.
    ///
    /// Masks of the current row are then read where they are.
    pub(super) in_place: bool,
}

impl<'a> CheckedProgram<'a> {
    /// A program over columns of `2^log_size` positions.
    pub(super) fn new(
        &AirParams { log_size, registers, .. }: &AirParams,
        instructions: &'a [Instruction],
        masks: &'a [MaskAt],
        constants: &'a [M31],
        challenges: &'a [QM31],
    ) -> Self {
        Self { instructions, masks, constants, challenges, registers, in_place: 1usize << log_size >= TILE }
    }
}

impl TileProgram {
    /// Makes a checked program ready.
    pub(super) fn new(source: &CheckedProgram<'_>, outputs: Outputs<'_>) -> Self {
        // Registers start as the plane of zeros.
        let mut maker = Maker {
            steps: Vec::new(),
            readers: Vec::new(),
            free: Vec::new(),
            fixed: HashMap::new(),
            registers: Vec::new(),
            terms: Vec::new(),
            offsets: Vec::new(),
        };
        let zero = maker.constant(M31::ZERO);
        for _ in 0..source.registers {
            maker.hold(zero);
            maker.registers.push(zero);
        }
        // Instructions become steps on planes.
        for step in source.instructions {
            maker.step(source, outputs, step);
        }
        // The last terms are padded to four.
        while !maker.terms.is_empty() && maker.terms.len() < 4 {
            maker.hold(zero);
            maker.terms.push(Term { plane: zero, factor: QM31::ZERO });
        }
        maker.accumulate();
        let mut fixed: Vec<_> = maker.fixed.into_iter().map(|(word, plane)| (plane, word)).collect();
        fixed.sort_unstable();
        Self { steps: maker.steps, planes: maker.readers.len(), fixed, offsets: maker.offsets }
    }
}

/// A program in the making.
struct Maker {
    steps: Vec<PlaneStep>,
    /// Registers and terms that stand for each plane of the tile, plus one for a fixed plane.
    readers: Vec<usize>,
    free: Vec<usize>,
    fixed: HashMap<M31, usize>,
    registers: Vec<PlaneAt>,
    /// Terms that wait until four can be added at once.
    terms: Vec<Term>,
    offsets: Vec<i32>,
}

impl Maker {
    /// The place of an offset in the program's list of offsets, added if missing.
    fn offset(&mut self, offset: i32) -> usize {
        self.offsets.iter().position(|&known| known == offset).unwrap_or_else(|| {
            self.offsets.push(offset);
            self.offsets.len() - 1
        })
    }

    fn constant(&mut self, word: M31) -> PlaneAt {
        if let Some(&plane) = self.fixed.get(&word) {
            return PlaneAt::Tile(plane);
        }
        // A fresh plane: it is filled before the first step, so no step may have written it before.
        let plane = self.readers.len();
        self.readers.push(1);
        self.fixed.insert(word, plane);
        PlaneAt::Tile(plane)
    }

    /// A plane without readers.
    fn plane(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.readers.push(0);
            self.readers.len() - 1
        })
    }

    fn hold(&mut self, plane: PlaneAt) {
        if let PlaneAt::Tile(plane) = plane {
            self.readers[plane] += 1;
        }
    }

    fn release(&mut self, plane: PlaneAt) {
        if let PlaneAt::Tile(plane) = plane {
            self.readers[plane] -= 1;
            if self.readers[plane] == 0 {
                self.free.push(plane);
            }
        }
    }

    /// Lets a register stand for a plane.
    fn assign(&mut self, register: usize, plane: PlaneAt) {
        self.hold(plane);
        let before = core::mem::replace(&mut self.registers[register], plane);
        self.release(before);
    }

    /// The planes of a value of the secure field.
    fn secure(&self, first: usize) -> [PlaneAt; 4] {
        [0, 1, 2, 3].map(|k| self.registers[first + k])
    }

    fn assign_secure(&mut self, first: usize, planes: [PlaneAt; 4]) {
        // All are held before any is released: the old value may be among them.
        planes.into_iter().for_each(|plane| self.hold(plane));
        for (k, plane) in planes.into_iter().enumerate() {
            self.assign(first + k, plane);
            self.release(plane);
        }
    }

    /// A step with a new target.
    fn computed(&mut self, step: impl FnOnce(usize) -> PlaneStep) -> PlaneAt {
        let target = self.plane();
        self.steps.push(step(target));
        PlaneAt::Tile(target)
    }

    fn add(&mut self, left: PlaneAt, right: PlaneAt) -> PlaneAt {
        self.computed(|target| PlaneStep::Add { target, left, right })
    }

    fn sub(&mut self, left: PlaneAt, right: PlaneAt) -> PlaneAt {
        self.computed(|target| PlaneStep::Sub { target, left, right })
    }

    fn mul(&mut self, left: PlaneAt, right: PlaneAt) -> PlaneAt {
        self.computed(|target| PlaneStep::Mul { target, left, right })
    }

    fn by_coordinate(
        &mut self,
        left: [PlaneAt; 4],
        right: [PlaneAt; 4],
        operation: fn(&mut Self, PlaneAt, PlaneAt) -> PlaneAt,
    ) -> [PlaneAt; 4] {
        [0, 1, 2, 3].map(|k| operation(self, left[k], right[k]))
    }

    fn step(&mut self, source: &CheckedProgram<'_>, outputs: Outputs<'_>, step: &Instruction) {
        let [target, left, right] = [step.target, step.left, step.right].map(usize::from);
        let zero = self.constant(M31::ZERO);
        // Copies, constants and masks in place only rename planes; all else adds steps.
        match Opcode::ALL[usize::from(step.opcode)] {
            Opcode::Mask => {
                let plane = if source.in_place && source.masks[left].offset == 0 {
                    PlaneAt::Column(left)
                } else {
                    let offset = self.offset(source.masks[left].offset);
                    self.computed(|target| PlaneStep::Gather { target, mask: left, offset })
                };
                self.assign(target, plane);
            }
            Opcode::Constant => {
                let plane = self.constant(source.constants[left]);
                self.assign(target, plane);
            }
            Opcode::Challenge => {
                let planes = source.challenges[left].coordinates().map(|word| self.constant(word));
                self.assign_secure(target, planes);
            }
            Opcode::Copy => self.assign(target, self.registers[left]),
            Opcode::Add => {
                let plane = self.add(self.registers[left], self.registers[right]);
                self.assign(target, plane);
            }
            Opcode::Sub => {
                let plane = self.sub(self.registers[left], self.registers[right]);
                self.assign(target, plane);
            }
            Opcode::Mul => {
                let plane = self.mul(self.registers[left], self.registers[right]);
                self.assign(target, plane);
            }
            Opcode::Neg => {
                let plane = self.sub(zero, self.registers[left]);
                self.assign(target, plane);
            }
            Opcode::AddExt => {
                let planes = self.by_coordinate(self.secure(left), self.secure(right), Self::add);
                self.assign_secure(target, planes);
            }
            Opcode::SubExt => {
                let planes = self.by_coordinate(self.secure(left), self.secure(right), Self::sub);
                self.assign_secure(target, planes);
            }
            Opcode::NegExt => {
                let planes = self.by_coordinate([zero; 4], self.secure(left), Self::sub);
                self.assign_secure(target, planes);
            }
            Opcode::MulExtBase => {
                let planes = self.by_coordinate(self.secure(left), [self.registers[right]; 4], Self::mul);
                self.assign_secure(target, planes);
            }
            Opcode::AddExtBase => {
                let [x0, x1, x2, x3] = self.secure(left);
                let x0 = self.add(x0, self.registers[right]);
                self.assign_secure(target, [x0, x1, x2, x3]);
            }
            Opcode::SubExtBase => {
                let [x0, x1, x2, x3] = self.secure(left);
                let x0 = self.sub(x0, self.registers[right]);
                self.assign_secure(target, [x0, x1, x2, x3]);
            }
            Opcode::MulExt => {
                let (left, right) = (self.secure(left), self.secure(right));
                let planes = [(); 4].map(|()| self.plane());
                self.steps.push(PlaneStep::MulSecure { target: planes, left, right });
                self.assign_secure(target, planes.map(PlaneAt::Tile));
            }
            Opcode::Lift => self.assign_secure(target, [self.registers[left], zero, zero, zero]),
            Opcode::Out => self.output(outputs, target, [self.registers[left], zero, zero, zero]),
            Opcode::OutExt => self.output(outputs, target, self.secure(left)),
            Opcode::Bits => {
                let ([shift, to], source) = (Instruction::bounds(step.right), self.registers[left]);
                let mask = (1 << (to - shift)) - 1;
                let plane = self.computed(|target| PlaneStep::Bits { target, source, shift, mask });
                self.assign(target, plane);
            }
            Opcode::Xor => {
                let (left, right) = (self.registers[left], self.registers[right]);
                let plane = self.computed(|target| PlaneStep::Xor { target, left, right });
                self.assign(target, plane);
            }
        }
    }

    fn output(&mut self, outputs: Outputs<'_>, target: usize, planes: [PlaneAt; 4]) {
        let zero = self.constant(M31::ZERO);
        let basis = [QM31::ONE, QM31::I, QM31::U, QM31::I * QM31::U];
        for ((k, plane), basis) in planes.into_iter().enumerate().zip(basis) {
            match outputs {
                Outputs::Write => self.steps.push(PlaneStep::Write { source: plane, output: 4 * target + k }),
                Outputs::Table(_) if k > 0 => {}
                Outputs::Table(columns) if target < columns => {
                    self.steps.push(PlaneStep::Write { source: plane, output: target });
                }
                Outputs::Table(_) => self.steps.push(PlaneStep::Count(plane)),
                Outputs::Sum(_) if plane == zero => {}
                Outputs::Sum(powers) => {
                    self.hold(plane);
                    self.terms.push(Term { plane, factor: powers[target] * basis });
                    self.accumulate();
                }
            }
        }
    }

    /// Adds four terms if four are pending.
    fn accumulate(&mut self) {
        if let &[a, b, c, d] = &self.terms[..] {
            self.steps.push(PlaneStep::Accumulate([a, b, c, d]));
            self.terms.clear();
            [a, b, c, d].into_iter().for_each(|term| self.release(term.plane));
        }
    }
}
