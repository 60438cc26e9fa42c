//! Recorded AIRs make of random values what stwo's evaluator makes of them.

use core_types::{
    air::Air,
    field::{M31, QM31},
};
use stark_air::{MaskSource, Program, Recorded};
use stwo::core::{
    air::Component,
    channel::{Blake2sChannel, Channel},
    fields::qm31::QM31 as StwoQm31,
};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval};

use crate::{
    components::{RelationElements, components},
    interpreter,
    random_point::{Masks, RandomPoint, challenges},
    recorded::{airs, relations},
    statement::Statement,
};

/// The outputs of a program of `recorded` for masks of the base field.
fn outputs(recorded: &Recorded, program: &Program, masks: &Masks, challenges: &[QM31], mean: QM31) -> Vec<QM31> {
    let value = |mask: &stark_air::MaskRead| match mask.source {
        MaskSource::Preprocessed { slot } => masks[0][slot as usize][0],
        MaskSource::Column { tree, column } => {
            let (tree, column) = (tree.0 as usize, column as usize);
            let offsets = &recorded.columns()[tree][column];
            masks[tree][column][offsets.iter().position(|&offset| offset == mask.offset).unwrap()]
        }
    };
    let values: Vec<M31> = program.masks().iter().map(|mask| value(mask).coordinates()[0]).collect();
    let slots: Vec<QM31> = challenges[..recorded.challenges() as usize].iter().copied().chain([mean]).collect();
    interpreter::run(program, &values, &slots)
}

/// What components of stwo make of random values, compared with what recorded AIRs make of the same.
pub(crate) struct Compare {
    pub(crate) airs: std::vec::IntoIter<(FrameworkAir, Vec<usize>)>,
    pub(crate) channel: Blake2sChannel,
    pub(crate) sum: StwoQm31,
    pub(crate) challenges: Vec<QM31>,
    /// Preprocessed columns.
    pub(crate) preprocessed: usize,
}

impl Compare {
    fn compare<E: FrameworkEval>(
        &mut self,
        component: &FrameworkComponent<E>,
        (air, slots): &(FrameworkAir, Vec<usize>),
        base: bool,
    ) {
        let point = RandomPoint::draw(component, (slots, self.preprocessed), base, self.sum, &mut self.channel);
        assert_eq!(point.evaluate(&self.challenges, |row| air.eval(row)), point.theirs);
        if base {
            let recorded = Recorded::new(air).unwrap();
            let program = recorded.constraint_program();
            let values = outputs(&recorded, program, &point.masks, &self.challenges, point.mean);
            assert_eq!(values.len(), component.n_constraints());
            assert_eq!(values.iter().fold(QM31::ZERO, |sum, &value| sum * point.alpha + value), point.theirs);
        }
    }

    /// Compares a component with the next AIR.
    pub(crate) fn next<E: FrameworkEval>(&mut self, component: &FrameworkComponent<E>) {
        let air = self.airs.next().unwrap();
        assert_eq!(air.0.log_rows(), component.log_size());
        assert_eq!(air.0.log_degree_bound(), Component::max_constraint_log_degree_bound(component));
        // The component lists a column for each time it is read.
        let mut listed = Vec::new();
        for &column in component.preprocessed_column_indices() {
            if !listed.contains(&column) {
                listed.push(column);
            }
        }
        assert_eq!(air.1, listed);
        // With the elements that the component holds, whichever they are.
        let (held, elements) = FrameworkAir::with_elements(&**component).unwrap();
        let held = (held, air.1.clone());
        for base in [false, true] {
            self.compare(component, &air, base);
            let challenges = std::mem::replace(&mut self.challenges, elements.clone());
            self.compare(component, &held, base);
            self.challenges = challenges;
        }
    }
}

/// Compares the components of a statement, at several points.
fn compare(statement: &Statement) {
    let (airs, relations) = (airs(statement), relations(statement));
    for seed in 0..3 {
        let mut channel = Blake2sChannel::default();
        channel.mix_u64(seed);
        let challenges = challenges(channel.clone(), &relations);
        let elements = RelationElements::draw(statement, &mut channel);
        let sum = channel.draw_secure_felt();
        let preprocessed = statement.preprocessed().len();
        let mut compare = Compare { airs: airs.clone().into_iter(), channel, sum, challenges, preprocessed };
        for component in &components(statement, &elements, &vec![sum; statement.heights().len()]) {
            compare.next(component);
        }
        assert_eq!(compare.airs.len(), 0);
    }
}

#[test]
fn constraints_are_those_of_the_framework() {
    compare(&Statement::WideFibonacci { log_rows: vec![5, 7], columns: vec![3, 20] });
    compare(&Statement::Neighbours { log_rows: 6 });
    compare(&Statement::Cubes { log_rows: 6 });
    compare(&Statement::Selected { log_rows: [5, 6], unused: Some(4) });
    compare(&Statement::Selected { log_rows: [5, 5], unused: None });
}

#[test]
fn look_ups_are_those_of_the_framework() {
    for in_pairs in [false, true] {
        compare(&Statement::StateMachine { log_rows: 6, in_pairs });
    }
    compare(&Statement::Xor { log_rows: 6, bits: 2 });
    compare(&Statement::Steps { log_rows: [5, 7], first: [1, 2] });
    compare(&Statement::Plonk { gates: 40, inputs: [1, 2], outputs: [3, 4] });
    compare(&Statement::Poseidon2 { log_rows: 5, first: [1; 16], last: [2; 16] });
    compare(&Statement::Blake2s { log_blocks: 5, digest: [3; 8] });
}
