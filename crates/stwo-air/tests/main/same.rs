//! AIRs of stwo's framework record the same constraints as the AIRs that ship, one by one.

use core_types::{
    air::Air,
    field::{M31, QM31},
};
use stark_air::Recorded;
use stark_airs::{Statement as _, Visitor};
use stwo::core::channel::{Blake2sChannel, Channel};

use crate::{
    framework::{challenges, ours, outputs},
    recorded::{airs, relations},
    stated::Stated,
    statement::Statement,
};

/// Records the AIRs of a statement.
struct Records(Vec<(Recorded, Vec<usize>)>);

impl<'s> Visitor<'s> for Records {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        self.0.push((Recorded::new(air).unwrap(), preprocessed.to_vec()));
    }
}

fn compare(statement: &Statement) {
    let mut records = Records(Vec::new());
    match Stated::of(statement).unwrap() {
        Stated::Steps(machine, _) => machine.visit(&mut records),
        Stated::Plonk(plonk, _) => plonk.visit(&mut records),
        Stated::Poseidon2(chain, _) => chain.visit(&mut records),
        Stated::Blake2s(hash, _) => hash.visit(&mut records),
    }
    let airs = airs(statement);
    assert_eq!(airs.len(), records.0.len());
    let mut channel = Blake2sChannel::default();
    let challenges = challenges(channel.clone(), &relations(statement));
    let mean = ours(channel.draw_secure_felt());
    let mut word = || ours(channel.draw_secure_felt()).coordinates()[0];
    for ((air, places), (expected, slots)) in airs.iter().zip(&records.0) {
        let recorded = Recorded::new(air).unwrap();
        assert_eq!(recorded.columns(), expected.columns());
        assert_eq!(recorded.challenges(), expected.challenges());
        let preprocessed: Vec<M31> = statement.preprocessed().iter().map(|_| word()).collect();
        let columns = recorded.columns().iter().skip(1);
        let values: Vec<Vec<Vec<QM31>>> = columns
            .map(|tree| tree.iter().map(|offsets| offsets.iter().map(|_| word().into()).collect()).collect())
            .collect();
        let masks = |places: &[usize]| {
            let slots = places.iter().map(|&place| vec![preprocessed[place].into()]).collect();
            std::iter::once(slots).chain(values.iter().cloned()).collect()
        };
        let (masks, expected_masks) = (masks(places), masks(slots));
        assert_eq!(
            outputs(&recorded, recorded.constraint_program(), &masks, &challenges, mean),
            outputs(expected, expected.constraint_program(), &expected_masks, &challenges, mean),
        );
        let [fractions, expected_fractions] =
            [&recorded, expected].map(|recorded| recorded.fraction_program().unwrap());
        assert_eq!(
            outputs(&recorded, fractions, &masks, &challenges, mean),
            outputs(expected, expected_fractions, &expected_masks, &challenges, mean),
        );
    }
}

#[test]
fn programs_compute_what_those_of_airs_that_ship_compute() {
    compare(&Statement::Steps { log_rows: [5, 7], first: [1, 2] });
    compare(&Statement::Plonk { gates: 40, inputs: [1, 2], outputs: [3, 4] });
    compare(&Statement::Poseidon2 { log_rows: 5, first: [1; 16], last: [2; 16] });
    compare(&Statement::Blake2s { log_blocks: 5, digest: [3; 8] });
}
