//! Constraints of components.

use std::collections::HashMap;

use backend_api::{
    Buffer as _, Queue,
    ops::air::{AirEvaluate, AirOps as _},
};
use core_types::{
    circle::double_x,
    field::{M31, QM31},
    params::air::{AirParams, MaskAt},
};
use runtime::AnyBuf;
use stark_air::{MaskSource, Recorded};
use stark_fft::CanonicDomain;
use stwo::{
    core::{air::Component as _, fields::m31::BaseField, poly::circle::CanonicCoset},
    prover::{
        ComponentProver, DomainEvaluationAccumulator, EvaluationMode, Poly, Trace, secure_column::SecureColumnByCoords,
    },
};
use stwo_air::FrameworkAir;
use stwo_constraint_framework::{FrameworkComponent, FrameworkEval, InfoEvaluator, PREPROCESSED_TRACE_IDX};

use super::poly::evaluate_all;
use crate::{
    TrefoilBackend,
    column::together,
    device::{done, queue},
    layer::{column_of, into_buf},
    memory::{arena::Slice, folds::Folds},
    twiddles::twiddles,
    value::secure,
};

type ColumnPoly<'a> = &'a Poly<TrefoilBackend>;

/// A program of the constraints of a component, and its inputs.
struct ConstraintProgram {
    recorded: Recorded,
    /// Look-up elements, and the mean of the claimed sum after them.
    challenges: Vec<QM31>,
    /// Tree and place in it of each preprocessed column by slot.
    preprocessed: Vec<usize>,
}

impl ConstraintProgram {
    /// Records the constraints of `component` as they are in this proof.
    #[track_caller]
    fn new<E: FrameworkEval>(component: &FrameworkComponent<E>) -> Self {
        let eval: &E = component;
        let (air, mut challenges) = done(FrameworkAir::with_elements(eval));
        let recorded = done(Recorded::of_constraints(&air));
        challenges.truncate(recorded.challenges() as usize);
        let rows = BaseField::from_u32_unchecked(1 << eval.log_size());
        challenges.push(secure(component.claimed_sum() * rows.inverse()));
        // The component has a place for each call, in order.
        let info = eval.evaluate(InfoEvaluator::new(eval.log_size(), Vec::new(), component.claimed_sum()));
        let names = info.preprocessed_columns.iter().map(|column| &column.id);
        let places: HashMap<_, _> = names.zip(component.preprocessed_column_indices()).collect();
        let preprocessed = air.preprocessed().iter().map(|name| *places[&name]).collect();
        Self { recorded, challenges, preprocessed }
    }

    /// The columns that the program reads, once each.
    ///
    /// They come with the place of each mask's column among them.
    fn columns<'t, E: FrameworkEval>(
        &self,
        component: &FrameworkComponent<E>,
        trace: &Trace<'t, TrefoilBackend>,
    ) -> (Vec<ColumnPoly<'t>>, Vec<usize>) {
        let (mut columns, mut places) = (Vec::new(), HashMap::new());
        let masks = self.recorded.constraint_program().masks().iter().map(|mask| {
            *places.entry(mask.source).or_insert_with(|| {
                let (tree, column) = match mask.source {
                    MaskSource::Preprocessed { slot } => (PREPROCESSED_TRACE_IDX, self.preprocessed[slot as usize]),
                    MaskSource::Column { tree, column } => {
                        let tree = tree.0 as usize;
                        (tree, component.trace_locations()[tree].col_start + column as usize)
                    }
                };
                columns.push(trace.polys[tree][column]);
                columns.len() - 1
            })
        });
        let masks = masks.collect();
        (columns, masks)
    }
}

/// The inverses of the polynomial that vanishes on the rows.
///
/// They are at the first positions of the domain of `2^log_domain` points.
fn vanishing_inverses(log_rows: u32, log_size: u32, log_domain: u32) -> Vec<M31> {
    let domain = done(CanonicDomain::new(log_domain));
    let at = |copy: usize| {
        let x = domain.stored_point(copy << log_rows).x;
        // Only the rows themselves have a zero there.
        (1..log_rows).fold(x, |x, _| double_x(x)).inverse().unwrap_or(M31::ZERO)
    };
    (0..1 << (log_size - log_rows)).map(at).collect()
}

/// The sums so far, to be added to.
fn sums(column: SecureColumnByCoords<TrefoilBackend>) -> AnyBuf<M31> {
    if column.columns.iter().all(crate::DeviceColumn::is_untouched) {
        return done(queue().zeros(4 * column.len()));
    }
    into_buf(column)
}

impl<E: FrameworkEval> ComponentProver<TrefoilBackend> for FrameworkComponent<E> {
    fn evaluate_constraint_quotients_on_domain(
        &self,
        trace: &Trace<'_, TrefoilBackend>,
        evaluation_accumulator: &mut DomainEvaluationAccumulator<TrefoilBackend>,
    ) {
        let constraints = self.n_constraints();
        if constraints == 0 {
            return;
        }
        if self.is_disabled() {
            evaluation_accumulator.skip_coeffs(constraints);
            return;
        }
        let q = queue();
        let program = ConstraintProgram::new(self);
        let (columns, masks) = program.columns(self, trace);
        let (log_rows, log_size) = (program.recorded.log_rows(), self.max_constraint_log_degree_bound());
        let (log_domain, slices): (_, Vec<Slice<M31>>) = match evaluation_accumulator.evaluation_mode() {
            // The first values of those that were committed to.
            EvaluationMode::SubDomain { log_expansion } => {
                (log_size + log_expansion, columns.iter().map(|column| column.evals.values.slice()).collect())
            }
            EvaluationMode::ExtendToEvalDomain => {
                let coefficients = columns.iter().map(|column| match &column.coeffs {
                    Some(coefficients) => coefficients,
                    None => panic!(
                        "trefoil: constraints of this degree need the coefficients of the trace, which are not stored"
                    ),
                });
                let twiddles = twiddles(CanonicCoset::new(log_size).half_coset());
                let coefficients: Vec<_> = coefficients.collect();
                (log_size, evaluate_all(&coefficients, log_size - log_rows, &twiddles.twiddles))
            }
        };
        // Columns of several trees have to be copied together, of each the values that are read.
        let read = |slice: Slice<M31>| {
            let (len, rows) = (slice.len, 1_usize << log_rows);
            assert!(
                len >> log_size > 0,
                "trefoil: a component of {rows} rows reads a column of {len} committed values"
            );
            Slice { len: 1 << log_size, ..slice }
        };
        let slices: Vec<_> = slices.into_iter().map(read).collect();
        let (arena, starts) = together(&slices);
        let steps = program.recorded.constraint_program();
        let masks = masks.iter().zip(steps.masks()).map(|(&column, mask)| MaskAt {
            first: starts[column],
            offset: mask.offset,
            reserved: 0,
        });

        let [accumulator] = evaluation_accumulator.columns([(log_size, constraints)]);
        let powers: Vec<_> = accumulator.random_coeff_powers.iter().rev().map(|&power| secure(power)).collect();
        let (powers, challenges) = (done(q.upload(&powers)), done(q.upload(&program.challenges)));
        let empty = SecureColumnByCoords::zeros(0);
        let mut sums = sums(std::mem::replace(accumulator.col, empty));
        done(q.air_evaluate(AirEvaluate {
            params: &AirParams { log_rows, log_size, registers: steps.registers(), outputs: steps.outputs() },
            instructions: steps.instructions(),
            masks: &masks.collect::<Vec<_>>(),
            constants: steps.constants(),
            vanishing_inverses: &vanishing_inverses(log_rows, log_size, log_domain),
            values: arena.view(),
            challenges: challenges.view(),
            powers: powers.view(),
            sums: sums.view_mut(),
        }));
        *accumulator.col = column_of(sums, Folds::default());
    }
}
