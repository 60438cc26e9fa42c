//! Rows of nodes that record an AIR or a generator.
//!
//! One takes the constraints of an AIR, one the fractions of its look-ups, and one the columns of a
//! generator.

use std::collections::HashMap;

use core_types::{
    air::{Fraction, NewRow, Row, Tree},
    params::air::Instruction,
};

use crate::{
    MaskRead, MaskSource, RecordError,
    arena::{Arena, Op},
    value::Value,
};

/// The most trees that an AIR may read.
const MOST_TREES: usize = 1 << 8;

/// Placeholder for the column of row numbers.
///
/// It is replaced once the number of inputs is known.
pub(crate) const NUMBERS: MaskSource = MaskSource::Preprocessed { slot: u32::MAX };

/// What an AIR reads.
#[derive(Debug)]
pub(crate) struct Reads<'a> {
    pub(crate) arena: &'a Arena,
    /// Offsets of each column, by tree.
    pub(crate) columns: Vec<Vec<Vec<i32>>>,
    /// Slots of preprocessed columns.
    pub(crate) preprocessed: u32,
    /// Slots of challenges.
    pub(crate) challenges: u32,
    /// Masks, by the numbers that nodes have for them.
    pub(crate) masks: Vec<MaskRead>,
    numbers: HashMap<MaskRead, u32>,
    /// The first thing that was wrong.
    pub(crate) error: Option<RecordError>,
}

impl<'a> Reads<'a> {
    fn new(arena: &'a Arena) -> Self {
        Self {
            arena,
            columns: vec![Vec::new()],
            preprocessed: 0,
            challenges: 0,
            masks: Vec::new(),
            numbers: HashMap::new(),
            error: None,
        }
    }

    fn value(&self, op: Op) -> Value<'a> {
        Value::Node(self.arena, self.arena.node(op))
    }

    fn read(&mut self, source: MaskSource, offset: i32) -> Value<'a> {
        let mask = MaskRead { source, offset };
        let number = *self.numbers.entry(mask).or_insert_with(|| {
            self.masks.push(mask);
            self.masks.len() as u32 - 1
        });
        self.value(Op::Mask(number))
    }

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [Value<'a>; K] {
        let place = tree.0 as usize;
        if tree == Tree::PREPROCESSED || place >= MOST_TREES {
            let error = match place {
                0 => RecordError::PreprocessedMask,
                _ => RecordError::TooMany { what: "trees", most: MOST_TREES, got: place.saturating_add(1) },
            };
            self.error.get_or_insert(error);
            return offsets.map(|_| self.value(Op::Missing));
        }
        if self.columns.len() <= place {
            self.columns.resize_with(place + 1, Vec::new);
        }
        let column = self.columns[place].len() as u32;
        self.columns[place].push(offsets.to_vec());
        offsets.map(|offset| self.read(MaskSource::Column { tree, column }, offset))
    }

    fn preprocessed(&mut self, slot: u32) -> Value<'a> {
        self.preprocessed = self.preprocessed.max(slot.saturating_add(1));
        self.read(MaskSource::Preprocessed { slot }, 0)
    }

    fn challenge(&mut self, slot: u32) -> Value<'a> {
        self.challenges = self.challenges.max(slot.saturating_add(1));
        self.value(Op::Challenge(slot))
    }
}

/// A row that takes constraints.
#[derive(Debug)]
pub(crate) struct Constraints<'a> {
    pub(crate) reads: Reads<'a>,
    pub(crate) values: Vec<Value<'a>>,
}

impl<'a> Constraints<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Self { reads: Reads::new(arena), values: Vec::new() }
    }
}

impl<'a> Row for Constraints<'a> {
    type F = Value<'a>;
    type E = Value<'a>;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [Value<'a>; K] {
        self.reads.mask(tree, offsets)
    }

    fn preprocessed(&mut self, slot: u32) -> Value<'a> {
        self.reads.preprocessed(slot)
    }

    fn challenge(&mut self, slot: u32) -> Value<'a> {
        self.reads.challenge(slot)
    }

    fn mean(&mut self) -> Value<'a> {
        self.reads.value(Op::Mean)
    }

    fn constraint(&mut self, value: Value<'a>) {
        self.values.push(value);
    }

    fn constraint_ext(&mut self, value: Value<'a>) {
        self.values.push(value);
    }
}

/// A row that takes the fractions of interaction columns instead of constraining them.
#[derive(Debug)]
pub(crate) struct Fractions<'a> {
    pub(crate) reads: Reads<'a>,
    pub(crate) values: Vec<Fraction<Value<'a>>>,
    finished: bool,
}

impl<'a> Fractions<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Self { reads: Reads::new(arena), values: Vec::new(), finished: false }
    }

    fn push(&mut self, fraction: Fraction<Value<'a>>) {
        if self.finished {
            self.reads.error.get_or_insert(RecordError::LookUps);
        }
        self.values.push(fraction);
    }

    /// Rejects entries that are not one list of look-ups, with `interaction` columns of words.
    pub(crate) fn check(&self, interaction: usize) -> Result<(), RecordError> {
        let whole = self.finished && interaction == 4 * self.values.len();
        match self.reads.error {
            Some(error) => Err(error),
            None if self.values.is_empty() || whole => Ok(()),
            None => Err(RecordError::LookUps),
        }
    }
}

impl<'a> Row for Fractions<'a> {
    type F = Value<'a>;
    type E = Value<'a>;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [Value<'a>; K] {
        if tree < Tree::INTERACTION {
            return self.reads.mask(tree, offsets);
        }
        offsets.map(|_| self.reads.value(Op::Missing))
    }

    fn preprocessed(&mut self, slot: u32) -> Value<'a> {
        self.reads.preprocessed(slot)
    }

    fn challenge(&mut self, slot: u32) -> Value<'a> {
        self.reads.challenge(slot)
    }

    /// The mean is known once the fractions are.
    fn mean(&mut self) -> Value<'a> {
        self.reads.value(Op::Missing)
    }

    fn constraint(&mut self, _: Value<'a>) {}

    fn constraint_ext(&mut self, _: Value<'a>) {}

    fn partial_sum(&mut self, _: Option<Value<'a>>, fraction: Fraction<Value<'a>>) -> Value<'a> {
        self.push(fraction);
        self.reads.value(Op::Missing)
    }

    fn running_sum(&mut self, _: Option<Value<'a>>, fraction: Fraction<Value<'a>>) {
        self.push(fraction);
        self.finished = true;
    }
}

/// An output of a generator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output<'a> {
    /// The next column.
    Column(Value<'a>),
    /// The number of a counter.
    Counter(Value<'a>),
}

/// A new row that takes its columns.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) reads: Reads<'a>,
    /// Columns and numbers of counters, in the order in which they are known.
    pub(crate) outputs: Vec<Output<'a>>,
    /// Inputs that were read.
    pub(crate) inputs: u32,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(arena: &'a Arena) -> Self {
        Self { reads: Reads::new(arena), outputs: Vec::new(), inputs: 0 }
    }
}

impl<'a> NewRow for Columns<'a> {
    type F = Value<'a>;

    fn mask<const K: usize>(&mut self, offsets: [i32; K]) -> [Value<'a>; K] {
        let slot = self.inputs;
        self.inputs = slot.saturating_add(1);
        offsets.map(|offset| self.reads.read(MaskSource::Preprocessed { slot }, offset))
    }

    fn number(&mut self) -> Value<'a> {
        self.reads.read(NUMBERS, 0)
    }

    fn write(&mut self, value: Value<'a>) {
        self.outputs.push(Output::Column(value));
    }

    fn bits(&mut self, value: Value<'a>, from: u32, to: u32) -> Value<'a> {
        if from >= to || to > 31 {
            self.reads.error.get_or_insert(RecordError::Bits { from, to });
            return value;
        }
        value.bits(self.reads.arena, Instruction::bits(from, to))
    }

    fn xor(&mut self, a: Value<'a>, b: Value<'a>) -> Value<'a> {
        a.xor(b, self.reads.arena)
    }

    fn count(&mut self, key: Value<'a>) {
        self.outputs.push(Output::Counter(key));
    }
}
