//! A recording in the making.

use alloc::{collections::BTreeMap, rc::Rc, string::String, vec::Vec};
use core::cell::RefCell;

use core_types::{
    air::{Relation, Tree},
    field::{M31, QM31},
};

use crate::{
    FrameworkError,
    free::{Free, FreeOp},
    step::TapeStep,
};

/// Slots of challenges that there are.
pub(crate) const MOST_SLOTS: u32 = 1 << 16;

/// The most steps that a recording may have.
const MOST_STEPS: usize = 1 << 22;

/// Steps so far. Values refer to it, so that it can be added to by whoever computes with one.
#[derive(Debug, Default)]
pub(crate) struct AirTape(RefCell<TapeContents>);

#[derive(Debug, Default)]
struct TapeContents {
    steps: Vec<TapeStep>,
    values: Vec<ValueReads>,
    preprocessed: Vec<String>,
    /// Slots by the words of the challenges that are in them.
    slots: BTreeMap<[u32; 4], u32>,
    /// The values in the slots, in order, where every constant of the secure field gets one.
    elements: Option<Vec<QM31>>,
    /// The first thing that was wrong.
    error: Option<FrameworkError>,
}

/// The dependencies of a value.
#[derive(Clone, Copy, Debug, Default)]
struct ValueReads {
    column: bool,
    challenge: bool,
}

/// What an AIR does, and which preprocessed columns it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AirRecording {
    pub(crate) steps: Vec<TapeStep>,
    /// Names, by slot.
    pub(crate) preprocessed: Vec<String>,
}

impl AirTape {
    /// A tape that puts every constant of the secure field in a slot.
    ///
    /// The first constant that occurs gets the first slot.
    pub(crate) fn with_elements() -> Self {
        Self(RefCell::new(TapeContents { elements: Some(Vec::new()), ..TapeContents::default() }))
    }

    /// Returns whether constants are put in slots as they occur.
    ///
    /// Challenges cannot be distinguished from other constants then.
    pub(crate) fn has_elements(&self) -> bool {
        self.0.borrow().elements.is_some()
    }

    /// Registers these challenges of `relation` on the tape.
    pub(crate) fn add_relation(&self, relation: Relation, z: QM31, alpha: QM31) {
        let slots = &mut self.0.borrow_mut().slots;
        let last = relation.first().saturating_add(relation.slots());
        let mut challenge = z;
        let mut power = QM31::ONE;
        for slot in relation.first()..last {
            slots.insert(words(challenge), slot);
            power *= alpha;
            challenge = power;
        }
    }

    /// Notes that the AIR cannot be recorded.
    pub(crate) fn refuse(&self, error: FrameworkError) {
        self.0.borrow_mut().error.get_or_insert(error);
    }

    /// Adds a step that makes no value.
    pub(crate) fn state(&self, step: TapeStep) {
        self.0.borrow_mut().push(step, 0);
    }

    /// Adds a step that makes one value, and returns its number.
    pub(crate) fn value(&self, step: TapeStep) -> u32 {
        self.0.borrow_mut().push(step, 1)
    }

    /// Reads the next column of `tree`, one value for each offset.
    ///
    /// Returns the number of the first value.
    pub(crate) fn column(&self, tree: Tree, offsets: Vec<i32>) -> u32 {
        let values = offsets.len();
        self.0.borrow_mut().push(TapeStep::Column(tree, offsets), values)
    }

    /// Reads the preprocessed column `name`.
    pub(crate) fn preprocessed(&self, name: String) -> u32 {
        let inner = &mut *self.0.borrow_mut();
        let slot = inner.preprocessed.iter().position(|known| *known == name).unwrap_or_else(|| {
            inner.preprocessed.push(name);
            inner.preprocessed.len() - 1
        });
        inner.push(TapeStep::Preprocessed(slot as u32), 1)
    }

    /// A constant, or the challenge that it stands for.
    pub(crate) fn constant(&self, value: QM31) -> u32 {
        let inner = &mut *self.0.borrow_mut();
        let step = match (inner.slots.get(&words(value)), &mut inner.elements) {
            (Some(&slot), _) => TapeStep::Challenge(slot),
            (None, None) => TapeStep::Constant(value),
            (None, Some(elements)) => {
                let slot = elements.len() as u32;
                if slot == MOST_SLOTS {
                    let error = FrameworkError::TooMany { what: "look-up elements", most: MOST_SLOTS as usize };
                    inner.error.get_or_insert(error);
                } else {
                    elements.push(value);
                    inner.slots.insert(words(value), slot);
                }
                TapeStep::Challenge(slot)
            }
        };
        inner.push(step, 1)
    }

    /// Adds what was computed from constants alone.
    pub(crate) fn free(&self, free: &Rc<Free>) -> u32 {
        match &free.op {
            FreeOp::Constant => self.constant(free.value),
            FreeOp::Neg(operand) => {
                let operand = self.free(operand);
                self.value(TapeStep::Neg(operand))
            }
            FreeOp::Binary(op, [left, right]) => {
                let operands = [self.free(left), self.free(right)];
                self.value(TapeStep::Binary(*op, operands))
            }
            FreeOp::Refused(error) => {
                self.refuse(error.clone());
                self.value(TapeStep::Word(M31::ONE))
            }
        }
    }

    /// Whether a value depends on columns and on no challenge.
    pub(crate) fn is_without_challenge(&self, value: u32) -> bool {
        let ValueReads { column, challenge } = self.0.borrow().reads(value);
        column && !challenge
    }

    /// The recording and the values in slots that were found.
    ///
    /// It fails with the first error that was recorded.
    pub(crate) fn finish(self) -> Result<(AirRecording, Vec<QM31>), FrameworkError> {
        let TapeContents { steps, preprocessed, elements, error, .. } = self.0.into_inner();
        error.map_or_else(|| Ok((AirRecording { steps, preprocessed }, elements.unwrap_or_default())), Err)
    }
}

impl TapeContents {
    /// Adds a step that makes `count` values, and returns the number of the first.
    fn push(&mut self, step: TapeStep, count: usize) -> u32 {
        if self.steps.len() == MOST_STEPS {
            // The AIR goes on with a wrong value until it returns; then it is refused.
            self.error.get_or_insert(FrameworkError::TooMany { what: "steps", most: MOST_STEPS });
            return 0;
        }
        let any = |values: &[u32]| {
            let reads = values.iter().map(|&value| self.reads(value));
            reads.fold(ValueReads::default(), |all, one| ValueReads {
                column: all.column || one.column,
                challenge: all.challenge || one.challenge,
            })
        };
        let reads = match &step {
            TapeStep::Word(_) | TapeStep::Constant(_) | TapeStep::Constraint(_) | TapeStep::RunningSum(..) => {
                ValueReads::default()
            }
            TapeStep::Challenge(_) => ValueReads { column: false, challenge: true },
            TapeStep::Preprocessed(_) | TapeStep::Column(..) | TapeStep::PartialSum(..) => {
                ValueReads { column: true, challenge: false }
            }
            TapeStep::Neg(value) => self.reads(*value),
            TapeStep::Binary(_, pair) => any(pair),
            TapeStep::Join(coordinates) => any(coordinates),
        };
        let first = self.values.len();
        self.values.resize(first + count, reads);
        self.steps.push(step);
        first as u32
    }

    /// Returns the dependencies of a value.
    fn reads(&self, value: u32) -> ValueReads {
        self.values.get(value as usize).copied().unwrap_or_default()
    }
}

fn words(value: QM31) -> [u32; 4] {
    value.coordinates().map(M31::word)
}
