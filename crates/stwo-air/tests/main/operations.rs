//! Every operation of stwo's evaluator, in AIRs of this test.

use core_types::air::Relation;
use num_traits::{One, Zero};
use stwo::core::{
    Fraction,
    channel::{Blake2sChannel, Channel},
    fields::{FieldExpOps, m31::BaseField, qm31::SecureField},
};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{
    EvalAtRow, FrameworkComponent, FrameworkEval, INTERACTION_TRACE_IDX, ORIGINAL_TRACE_IDX, RelationEntry,
    TraceLocationAllocator, logup::LookupElements,
};

use crate::{
    airs::{Pair, preprocessed},
    framework::Compare,
    random_point::challenges,
};

/// Each operation that values have.
struct Operations;

impl FrameworkEval for Operations {
    heights!(5);

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let (word, felt) = (BaseField::from(17), SecureField::from_u32_unchecked(2, 3, 5, 7));
        let first = eval.get_preprocessed_column(preprocessed("first"));
        let second = eval.get_preprocessed_column(preprocessed("second"));
        let again = eval.get_preprocessed_column(preprocessed("first"));
        let [] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, []);
        let [a, b, c, d, e] = eval.next_interaction_mask(ORIGINAL_TRACE_IDX, [3, -1, 0, 1, -7]);
        let [x, y] = eval.next_extension_interaction_mask(INTERACTION_TRACE_IDX, [0, -1]);
        let f = eval.next_trace_mask();
        let later = eval.next_interaction_mask(3, [0, 1]);

        let mut sum = a.clone() + b.clone() - c.clone() * word;
        sum += d.clone();
        sum += word;
        sum *= -e.clone();
        eval.add_constraint(sum.clone() - first * second + again.square());
        let kept = eval.add_intermediate(sum + E::F::zero() * E::F::one());
        eval.add_constraint(kept.clone() + felt);
        eval.add_constraint(kept * felt - E::EF::from(f.pow(2)));

        let mut wide = x.clone() + word + felt;
        wide += y.clone() * word * felt - felt;
        wide = wide + a.clone() - x.clone();
        let kept = eval.add_extension_intermediate(-wide * b);
        eval.add_constraint(kept * E::EF::one() + E::EF::zero());
        eval.add_constraint(E::combine_ef([a.clone(), c, d, e]) * x - y);
        let constants = [1, 2, 3, 4].map(|word| E::F::from(BaseField::from(word)));
        eval.add_constraint(E::combine_ef(constants.clone()) * f - E::EF::from(later[0].clone()));

        // Constants have no columns yet when they meet each other.
        let [one, two, three, four] = constants;
        let free =
            (E::EF::from(felt) - E::EF::from(one)) * E::EF::from(two) + E::EF::from(three) - E::EF::from(four) * felt;
        eval.add_constraint(later[1].clone() + SecureField::one() - free.clone());
        eval.add_constraint(a * SecureField::from(word));
        eval.add_constraint(-free);
        eval
    }
}

/// Look-ups in uneven batches, some of constants alone, with challenges that are multiplied and added up.
struct Batches {
    pair: Pair,
    elements: LookupElements<3>,
}

impl FrameworkEval for Batches {
    heights!(5);

    fn evaluate<E: EvalAtRow>(&self, mut eval: E) -> E {
        let values = [(); 4].map(|()| eval.next_trace_mask());
        let constant = |word: u32| E::F::from(BaseField::from(word));
        for value in values.clone() {
            let times = E::EF::from(values[0].clone());
            eval.add_to_relation(RelationEntry::new(&self.pair, times, &[value, constant(5)]));
        }
        eval.add_to_relation(RelationEntry::new(&self.pair, E::EF::one(), &[constant(3), constant(4)]));
        // Two fractions that are added up before they are written.
        let LookupElements { z, alpha, alpha_powers } = self.elements.clone();
        let [p, q] = [E::EF::from(alpha) * values[1].clone() - z, E::EF::from(alpha_powers[2]) * constant(9) - z];
        let both = Fraction::new(E::EF::one(), p) + Fraction::new(E::EF::from(values[2].clone()), q);
        eval.write_logup_frac(both);
        let squared = E::EF::from(alpha) * alpha - E::EF::from(self.elements.alpha_powers[2]);
        eval.add_constraint(squared * values[3].clone());
        eval.finalize_logup_batched(&vec![1, 0, 0, 2, 1, 3]);
        eval
    }
}

impl Batches {
    fn draw(channel: &mut impl Channel) -> Self {
        Self { pair: Pair::draw(channel), elements: LookupElements::draw(channel) }
    }
}

fn compare<E: FrameworkEval>(air: &FrameworkAir, relations: &[Relation], build: impl Fn(&mut Blake2sChannel) -> E) {
    for seed in 0..3 {
        let mut channel = Blake2sChannel::default();
        channel.mix_u64(seed);
        let challenges = challenges(channel.clone(), relations);
        let eval = build(&mut channel);
        let sum = channel.draw_secure_felt();
        let names: Vec<_> = air.preprocessed().iter().map(|name| preprocessed(name)).collect();
        let airs = vec![(air.clone(), air.places(air.preprocessed()).unwrap())].into_iter();
        let mut compare = Compare { airs, channel, sum, challenges, preprocessed: names.len() };
        let places = &mut TraceLocationAllocator::new_with_preprocessed_columns(&names);
        compare.next(&FrameworkComponent::new(places, eval, sum));
    }
}

#[test]
fn operations_are_those_of_the_framework() {
    let air = FrameworkAir::new(&Operations).unwrap();
    assert_eq!(air.preprocessed(), ["first", "second"]);
    compare(&air, &[], |_| Operations);
}

#[test]
fn batches_are_those_of_the_framework() {
    let relations = [Relation::new(0, 2), Relation::new(2, 3)];
    let air = FrameworkAir::with_relations(&relations, Batches::draw).unwrap();
    compare(&air, &relations, Batches::draw);
}
