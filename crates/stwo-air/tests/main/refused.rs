//! AIRs that no recording can hold are refused, with the reason.

use core_types::air::Relation;
use num_traits::{One, Zero};
use stark_air::{RecordError, Recorded};
use stwo::core::{
    Fraction,
    channel::{Blake2sChannel, Channel},
    fields::{FieldExpOps, m31::BaseField, qm31::SecureField},
};
use stwo_air::{FrameworkAir, FrameworkError};
use stwo_constraint_framework::{
    EvalAtRow, FrameworkEval, INTERACTION_TRACE_IDX, ORIGINAL_TRACE_IDX, PREPROCESSED_TRACE_IDX, RelationEntry,
    logup::LookupElements,
};

use crate::{
    airs::{Pair, preprocessed},
    random_point::ours,
};

const PAIR: Relation = Relation::new(0, 2);

/// Something that an AIR does with a column, an inverse and look-up elements.
#[derive(Clone, Copy, Debug)]
enum Does {
    Inverse,
    InverseOfConstant,
    Branch,
    PreprocessedMask,
    Tree,
    Offset,
    FullMask,
    WideMask,
    /// 4095 constants and products, negated this number of times.
    LongConstant(u32),
    Batches,
    Gap,
    Nothing,
    Twice,
    Late,
    Unfinished,
    Square,
    ReadsInteraction,
    Power,
}

struct WrongEval {
    does: Does,
    elements: LookupElements<2>,
}

impl FrameworkEval for WrongEval {
    heights!(4);

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let Self { does, elements } = self;
        let x = eval.next_trace_mask();
        let fraction = || Fraction::new(E::EF::one(), E::EF::from(x.clone()) - E::EF::from(elements.z));
        match does {
            Does::Inverse => eval.add_constraint(x.inverse()),
            Does::InverseOfConstant => eval.add_constraint(x * E::F::zero().inverse()),
            Does::Branch => {
                if !x.is_zero() {
                    eval.add_constraint(x);
                }
            }
            Does::PreprocessedMask => {
                let [y] = eval.next_interaction_mask(PREPROCESSED_TRACE_IDX, [0]);
                eval.add_constraint(x - y);
            }
            Does::Tree => {
                let [y] = eval.next_interaction_mask(1 << 40, [0]);
                eval.add_constraint(x - y);
            }
            Does::Offset => {
                let [y] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [-(1 << 40)]);
                eval.add_constraint(x - y);
            }
            Does::FullMask => {
                let [y, ..] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [0; 16]);
                eval.add_constraint(x - y);
            }
            Does::WideMask => {
                let [y, ..] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [0; 17]);
                eval.add_constraint(x - y);
            }
            Does::LongConstant(negations) => {
                let felt = E::EF::from(SecureField::from_u32_unchecked(1, 2, 3, 4));
                let power = (0..11).fold(felt, |power, _| power.clone() * power);
                eval.add_constraint((0..*negations).fold(power, |power, _| -power) * x);
            }
            Does::Batches => {
                eval.write_logup_frac(fraction());
                eval.finalize_logup_batched(&vec![0, 0]);
            }
            Does::Gap => {
                eval.write_logup_frac(fraction());
                eval.write_logup_frac(fraction());
                eval.finalize_logup_batched(&vec![0, usize::MAX]);
            }
            Does::Nothing => eval.finalize_logup(),
            Does::Twice => {
                eval.write_logup_frac(fraction());
                eval.finalize_logup();
                eval.finalize_logup();
            }
            Does::Late => {
                eval.write_logup_frac(fraction());
                eval.finalize_logup();
                eval.write_logup_frac(fraction());
            }
            Does::Unfinished => eval.write_logup_frac(fraction()),
            Does::Square => eval.add_constraint(E::EF::from(x) * (elements.z * elements.z)),
            Does::ReadsInteraction => {
                let [_] = eval.next_extension_interaction_mask(INTERACTION_TRACE_IDX, [0]);
                eval.write_logup_frac(fraction());
                eval.finalize_logup();
            }
            Does::Power => eval.add_constraint(E::EF::from(x.pow(4)) * elements.alpha),
        }
        eval
    }
}

fn recorded(does: Does) -> Result<FrameworkAir, FrameworkError> {
    FrameworkAir::with_relations(&[PAIR], |channel| WrongEval { does, elements: LookupElements::draw(channel) })
}

#[test]
fn wrong_airs_are_refused() {
    for (does, error) in [
        (Does::Inverse, FrameworkError::Inverse),
        (Does::InverseOfConstant, FrameworkError::Inverse),
        (Does::Branch, FrameworkError::Branch),
        (Does::PreprocessedMask, FrameworkError::PreprocessedMask),
        (Does::Tree, FrameworkError::Mask { tree: 1 << 40, offset: 0 }),
        (Does::Offset, FrameworkError::Mask { tree: 1, offset: -(1 << 40) }),
        (Does::WideMask, FrameworkError::TooMany { what: "rows in a mask", most: 16 }),
        (
            Does::LongConstant(2),
            FrameworkError::TooMany { what: "constants and operations in a value without columns", most: 4096 },
        ),
        (Does::Batches, FrameworkError::Batches { fractions: 1, got: 2 }),
        (Does::Gap, FrameworkError::Gap { missing: 1 }),
        (Does::Nothing, FrameworkError::Finalized),
        (Does::Twice, FrameworkError::Finalized),
        (Does::Late, FrameworkError::Finalized),
        (Does::Unfinished, FrameworkError::Unfinished { fractions: 1 }),
        (Does::Square, FrameworkError::Baked),
    ] {
        assert_eq!(recorded(does), Err(error), "{does:?}");
    }
}

#[test]
fn airs_at_the_limits_are_recorded() {
    for does in [Does::FullMask, Does::LongConstant(1)] {
        assert!(Recorded::new(&recorded(does).unwrap()).is_ok(), "{does:?}");
    }
}

#[test]
fn airs_that_cannot_be_proven_are_refused_when_they_become_programs() {
    let refused = |does| Recorded::new(&recorded(does).unwrap()).unwrap_err();
    assert_eq!(refused(Does::ReadsInteraction), RecordError::LookUps);
    assert_eq!(refused(Does::Power), RecordError::Degree { constraint: 0, degree: 4, most: 3 });
}

/// A look-up.
struct Uses(Pair);

impl FrameworkEval for Uses {
    heights!(4);

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let [x, y] = [(); 2].map(|()| eval.next_trace_mask());
        let once = E::EF::from(E::F::from(BaseField::one()));
        eval.add_to_relation(RelationEntry::new(&self.0, once, &[x, y]));
        eval.finalize_logup();
        eval
    }
}

#[test]
fn challenges_that_cannot_be_slots_are_refused() {
    let uses = |relations: &[Relation]| FrameworkAir::with_relations(relations, |channel| Uses(Pair::draw(channel)));
    assert_eq!(Recorded::new(&uses(&[PAIR]).unwrap()).unwrap().challenges(), 2);
    assert_eq!(FrameworkAir::new(&Uses(Pair::dummy())), Err(FrameworkError::NoChallenge { fraction: 0 }));
    let elsewhere = FrameworkAir::with_relations(&[PAIR], |channel| {
        let _ = channel.draw_secure_felts(2);
        Uses(Pair::draw(&mut Blake2sChannel::default()))
    });
    assert_eq!(elsewhere, Err(FrameworkError::NoChallenge { fraction: 0 }));
    for (relations, refused) in [
        (&[PAIR, Relation::new(1, 2)][..], FrameworkError::Slots { relation: 1, most: 1 << 16 }),
        (&[PAIR, Relation::new(2, u32::MAX)], FrameworkError::Slots { relation: 1, most: 1 << 16 }),
        (&[], FrameworkError::Draws { expected: 0, got: 2 }),
        (&[PAIR, Relation::new((1 << 16) - 1, 2)], FrameworkError::Slots { relation: 1, most: 1 << 16 }),
        (&[PAIR, Relation::new((1 << 16) - 2, 2)], FrameworkError::Draws { expected: 4, got: 2 }),
        (&[PAIR, Relation::new(2, 2)], FrameworkError::Draws { expected: 4, got: 2 }),
        (&[Relation::new(2, 2), PAIR], FrameworkError::Draws { expected: 4, got: 2 }),
        // The slots end before the power that the look-up uses.
        (&[Relation::new(0, 1)], FrameworkError::Baked),
    ] {
        assert_eq!(uses(relations), Err(refused));
    }
    let as_words = FrameworkAir::with_relations(&[PAIR], |channel| {
        channel.draw_u32s();
        Uses(Pair::draw(channel))
    });
    assert_eq!(as_words, Err(FrameworkError::Words));
}

/// Reads a preprocessed column.
struct PreprocessedReader;

impl FrameworkEval for PreprocessedReader {
    heights!(4);

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let there = eval.get_preprocessed_column(preprocessed("there"));
        eval.add_constraint(there * SecureField::from(BaseField::one()));
        eval
    }
}

#[test]
fn a_preprocessed_column_that_is_not_there_is_named() {
    let air = FrameworkAir::new(&PreprocessedReader).unwrap();
    assert_eq!(air.places(&["here", "there"]), Ok(vec![1]));
    assert_eq!(air.places(&["here"]), Err(FrameworkError::Preprocessed { name: "there".to_owned() }));
}

#[test]
fn what_cannot_be_recorded_is_refused_with_elements_too() {
    for (does, error) in [(Does::Inverse, FrameworkError::Inverse), (Does::Branch, FrameworkError::Branch)] {
        let wrong = WrongEval { does, elements: LookupElements::dummy() };
        assert_eq!(FrameworkAir::with_elements(&wrong), Err(error));
    }
    // A value computed from challenges alone is an element itself.
    let square = WrongEval { does: Does::Square, elements: LookupElements::dummy() };
    let (_, elements) = FrameworkAir::with_elements(&square).unwrap();
    assert_eq!(elements, [ours(square.elements.z * square.elements.z)]);
}
