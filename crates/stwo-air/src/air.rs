//! Recorded AIRs, evaluated on any row.

use alloc::{string::String, vec::Vec};

use core_types::{
    air::{Air, ExtensionValue, Fraction, Relation, Row, Tree},
    field::QM31,
};
use stwo_constraint_framework::FrameworkEval;

use crate::{
    Challenges, FrameworkError,
    recorder::{MOST_OFFSETS, Recorder},
    step::{BinaryOperation, TapeStep},
    tape::{AirRecording, AirTape, MOST_SLOTS},
    value::secure,
};

/// An AIR of stwo's constraint framework, as an [`Air`].
///
/// It is recorded once. Its constraints are the framework's in the same order, including the
/// look-ups'; the challenges of look-ups are slots, and the claimed sum is the row's. So it can be
/// proven on every backend, verified, and combined with other AIRs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameworkAir {
    log_rows: u32,
    log_degree_bound: u32,
    recording: AirRecording,
}

impl FrameworkAir {
    /// Records an AIR that uses no challenges.
    ///
    /// # Errors
    /// [`FrameworkError`], if the AIR does what no recording can hold;
    /// [`FrameworkError::NoChallenge`] for look-ups of columns.
    pub fn new<E: FrameworkEval>(eval: &E) -> Result<Self, FrameworkError> {
        Ok(Self::record(eval, AirTape::default())?.0)
    }

    /// Records the AIR that `build` makes of look-up elements drawn from the channel.
    ///
    /// The elements are drawn for the relations in `relations`, in this order.
    ///
    /// In stwo the elements are values within the AIR. So `build` is called twice, with elements
    /// that differ: a constant that is `z` or a power of `alpha` is a challenge and gets the slot
    /// that its relation has for it, and what else changes between both calls is refused. The slots
    /// must be those that the relation has in the statement, in all of its components: another
    /// relation in the same slots would have the same elements.
    ///
    /// ```
    /// use core_types::air::Relation;
    /// use stwo_air::FrameworkAir;
    /// use stwo_constraint_framework::{EvalAtRow, FrameworkEval, RelationEntry, relation};
    ///
    /// relation!(Bytes, 1);
    ///
    /// /// Each value of the column is one of a table of bytes.
    /// struct AreBytes { log_rows: u32, bytes: Bytes }
    ///
    /// impl FrameworkEval for AreBytes {
    ///     fn log_size(&self) -> u32 { self.log_rows }
    ///     fn max_constraint_log_degree_bound(&self) -> u32 { self.log_rows + 1 }
    ///
    ///     fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
    ///         let value = eval.next_trace_mask();
    ///         let once = E::EF::from(E::F::from(1.into()));
    ///         eval.add_to_relation(RelationEntry::new(&self.bytes, once, &[value]));
    ///         eval.finalize_logup();
    ///         eval
    ///     }
    /// }
    ///
    /// let relations = [Relation::new(0, 1)];
    /// let air = FrameworkAir::with_relations(&relations, |channel| AreBytes { log_rows: 8, bytes: Bytes::draw(channel) })?;
    /// let recorded = stark_air::Recorded::new(&air)?;
    /// assert_eq!((recorded.constraints(), recorded.challenges()), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FrameworkError`], if the AIR does what no recording can hold; [`FrameworkError::Slots`]
    /// for relations that share slots or have too many; [`FrameworkError::Draws`] if `build` draws
    /// elements of more or fewer relations; [`FrameworkError::NoChallenge`] or
    /// [`FrameworkError::Baked`] if the AIR has challenges that cannot be slots.
    pub fn with_relations<E: FrameworkEval>(
        relations: &[Relation],
        build: impl Fn(&mut Challenges) -> E,
    ) -> Result<Self, FrameworkError> {
        check_slots(relations)?;
        let record = |seed| {
            let mut challenges = Challenges::new(seed);
            let eval = build(&mut challenges);
            if challenges.drew_words() {
                return Err(FrameworkError::Words);
            }
            let (expected, drawn) = (2 * relations.len(), challenges.drawn());
            if drawn.len() != expected {
                return Err(FrameworkError::Draws { expected, got: drawn.len() });
            }
            let tape = AirTape::default();
            for (&relation, pair) in relations.iter().zip(drawn.as_chunks().0) {
                let [z, alpha] = pair.map(secure);
                tape.add_relation(relation, z, alpha);
            }
            Ok(Self::record(&eval, tape)?.0)
        };
        let (first, second) = (record(1)?, record(2)?);
        if first == second { Ok(first) } else { Err(FrameworkError::Baked) }
    }

    /// Records an AIR that contains its look-up elements, and returns the elements.
    ///
    /// The AIR is in the state that it has while its proof is made. Challenges cannot be
    /// distinguished from other constants of the secure field, so all of these are challenges: each
    /// gets a separate slot, in the order in which the AIR first uses them, and its value is the
    /// element of that number. The recording is then the same for all proofs, and only the elements
    /// differ. Constants of the base field, such as public values, are part of it; where they
    /// differ, so do recordings.
    ///
    /// ```
    /// use stwo::core::channel::Blake2sChannel;
    /// use stwo_air::FrameworkAir;
    /// use stwo_constraint_framework::{EvalAtRow, FrameworkEval, RelationEntry, relation};
    ///
    /// relation!(Bytes, 1);
    ///
    /// struct AreBytes(Bytes);
    ///
    /// impl FrameworkEval for AreBytes {
    ///     fn log_size(&self) -> u32 { 8 }
    ///     fn max_constraint_log_degree_bound(&self) -> u32 { 9 }
    ///
    ///     fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
    ///         let value = eval.next_trace_mask();
    ///         let once = E::EF::from(E::F::from(1.into()));
    ///         eval.add_to_relation(RelationEntry::new(&self.0, once, &[value]));
    ///         eval.finalize_logup();
    ///         eval
    ///     }
    /// }
    ///
    /// let channel = &mut Blake2sChannel::default();
    /// let (air, elements) = FrameworkAir::with_elements(&AreBytes(Bytes::draw(channel)))?;
    /// let (same, others) = FrameworkAir::with_elements(&AreBytes(Bytes::draw(channel)))?;
    /// assert_eq!(air, same);
    /// assert_ne!(elements, others);
    /// # Ok::<(), stwo_air::FrameworkError>(())
    /// ```
    ///
    /// # Errors
    /// [`FrameworkError`], if the AIR does what no recording can hold.
    pub fn with_elements<E: FrameworkEval>(eval: &E) -> Result<(Self, Vec<QM31>), FrameworkError> {
        Self::record(eval, AirTape::with_elements())
    }

    /// The recording, and the values of slots that it found.
    fn record<E: FrameworkEval>(eval: &E, tape: AirTape) -> Result<(Self, Vec<QM31>), FrameworkError> {
        eval.evaluate(Recorder::new(&tape)).finish();
        let (recording, elements) = tape.finish()?;
        let air =
            Self { log_rows: eval.log_size(), log_degree_bound: eval.max_constraint_log_degree_bound(), recording };
        Ok((air, elements))
    }

    /// The names of the preprocessed columns that it reads, by slot.
    ///
    /// Slots are in the order in which it first reads the columns.
    #[must_use]
    pub fn preprocessed(&self) -> &[String] {
        &self.recording.preprocessed
    }

    /// Returns the places of its preprocessed columns in a statement, by slot.
    ///
    /// A component is made with them.
    ///
    /// # Errors
    /// [`FrameworkError::Preprocessed`] for a column that is not there.
    pub fn places<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<usize>, FrameworkError> {
        let place = |name: &String| {
            let place = names.iter().position(|other| other.as_ref() == name);
            place.ok_or_else(|| FrameworkError::Preprocessed { name: name.clone() })
        };
        self.preprocessed().iter().map(place).collect()
    }
}

/// Refuses relations that share a slot.
///
/// One challenge in the place of two would let either be used for the other.
fn check_slots(relations: &[Relation]) -> Result<(), FrameworkError> {
    for (index, relation) in relations.iter().enumerate() {
        let (first, end) = (relation.first(), relation.first().saturating_add(relation.slots()));
        let is_shared = |other: &Relation| other.first() < end && first < other.first().saturating_add(other.slots());
        if end > MOST_SLOTS || relations[..index].iter().any(is_shared) {
            return Err(FrameworkError::Slots { relation: index, most: MOST_SLOTS });
        }
    }
    Ok(())
}

impl Air for FrameworkAir {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn log_degree_bound(&self) -> u32 {
        self.log_degree_bound
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let mut values: RowValues<R> = RowValues(Vec::new());
        for step in &self.recording.steps {
            values.step(row, step);
        }
    }
}

/// A value of a row.
enum FieldValue<R: Row> {
    Base(R::F),
    Secure(R::E),
}

impl<R: Row> Clone for FieldValue<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Row> Copy for FieldValue<R> {}

impl<R: Row> FieldValue<R> {
    fn secure(self) -> R::E {
        match self {
            Self::Base(value) => R::E::from(value),
            Self::Secure(value) => value,
        }
    }

    fn binary(self, op: BinaryOperation, rhs: Self) -> Self {
        match (self, rhs) {
            (Self::Base(left), Self::Base(right)) => Self::Base(op.apply(left, right)),
            (Self::Secure(left), Self::Base(right)) => Self::Secure(op.apply(left, right)),
            (Self::Secure(left), Self::Secure(right)) => Self::Secure(op.apply(left, right)),
            (Self::Base(left), Self::Secure(right)) => Self::Secure(match op {
                BinaryOperation::Add => right + left,
                BinaryOperation::Sub => R::E::from(left) - right,
                BinaryOperation::Mul => right * left,
            }),
        }
    }

    /// A coordinate: stwo's evaluator takes values of the base field alone, by their type.
    fn base(self) -> R::F {
        match self {
            Self::Base(value) => value,
            Self::Secure(_) => unreachable!("coordinates are values of the base field"),
        }
    }
}

/// The values of a row, by number.
struct RowValues<R: Row>(Vec<FieldValue<R>>);

impl<R: Row> RowValues<R> {
    fn get(&self, value: u32) -> FieldValue<R> {
        self.0[value as usize]
    }

    fn fraction(&self, fraction: Fraction<u32>) -> Fraction<R::E> {
        let Fraction { numerator, denominator } = fraction;
        Fraction { numerator: self.get(numerator).secure(), denominator: self.get(denominator).secure() }
    }

    fn step(&mut self, row: &mut R, step: &TapeStep) {
        let made = match *step {
            TapeStep::Word(value) => FieldValue::Base(R::F::from(value)),
            TapeStep::Constant(value) => FieldValue::Secure(R::E::from(value)),
            TapeStep::Challenge(slot) => FieldValue::Secure(row.challenge(slot)),
            TapeStep::Preprocessed(slot) => FieldValue::Base(row.preprocessed(slot)),
            TapeStep::Column(tree, ref offsets) => {
                return self.0.extend(mask(row, tree, offsets).into_iter().map(FieldValue::Base));
            }
            TapeStep::Neg(value) => match self.get(value) {
                FieldValue::Base(value) => FieldValue::Base(-value),
                FieldValue::Secure(value) => FieldValue::Secure(-value),
            },
            TapeStep::Binary(op, [left, right]) => self.get(left).binary(op, self.get(right)),
            TapeStep::Join(coordinates) => {
                FieldValue::Secure(R::E::from_coordinates(coordinates.map(|value| self.get(value).base())))
            }
            TapeStep::Constraint(value) => {
                return match self.get(value) {
                    FieldValue::Base(value) => row.constraint(value),
                    FieldValue::Secure(value) => row.constraint_ext(value),
                };
            }
            TapeStep::PartialSum(previous, fraction) => {
                let previous = previous.map(|value| self.get(value).secure());
                FieldValue::Secure(row.partial_sum(previous, self.fraction(fraction)))
            }
            TapeStep::RunningSum(previous, fraction) => {
                let previous = previous.map(|value| self.get(value).secure());
                return row.running_sum(previous, self.fraction(fraction));
            }
        };
        self.0.push(made);
    }
}

/// The next column of `tree` at these rows. A recording has at most [`MOST_OFFSETS`] of them.
fn mask<R: Row>(row: &mut R, tree: Tree, offsets: &[i32]) -> Vec<R::F> {
    macro_rules! of_length {
        ($($length:literal)*) => {
            $(if let Ok(offsets) = <[i32; $length]>::try_from(offsets) {
                return row.mask(tree, offsets).to_vec();
            })*
        };
    }
    of_length!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    unreachable!("masks of more than {MOST_OFFSETS} rows are refused")
}
