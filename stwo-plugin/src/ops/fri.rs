//! FRI.

use backend_api::{
    Buffer as _, Queue,
    ops::fri::{FriFold, FriOps as _},
};
use core_types::params::fri::FriFoldParams;
use stark_fft::CanonicDomain;
use stwo::{
    core::{fields::qm31::SecureField, poly::line::LineDomain},
    prover::{
        backend::CpuBackend,
        fri::FriOps,
        line::LineEvaluation,
        poly::{BitReversedOrder, circle::SecureEvaluation, twiddles::TwiddleTree},
        secure_column::SecureColumnByCoords,
    },
};

use crate::{
    TrefoilBackend,
    device::{done, queue},
    layer::{column_of, planes},
    memory::{arena::ArenaContents, folds::Folds},
    reads::queries,
    value::secure,
};

/// Folds a layer, and returns its fold with the counters of both.
fn fold(
    values: &SecureColumnByCoords<TrefoilBackend>,
    params: FriFoldParams,
    alpha: SecureField,
    twiddles: &TwiddleTree<TrefoilBackend>,
) -> SecureColumnByCoords<TrefoilBackend> {
    let q = queue();
    let values = planes(values);
    let challenge = done(q.upload(&[secure(alpha)]));
    let mut folded = done(q.alloc(values.len >> params.folds));
    done(q.fri_fold(FriFold {
        params: &params,
        inverse_twiddles: done(twiddles.itwiddles.factors().inverse(done(CanonicDomain::new(params.log_domain())))),
        challenge: challenge.view(),
        values: values.view(),
        folded: folded.view_mut(),
    }));
    let after = match values.arena.form() {
        ArenaContents::Planes(folds) => {
            folds.fold(params.folds);
            if params.on_circle == 1 { Folds::after(folds.clone()) } else { Folds::default() }
        }
        _ => Folds::default(),
    };
    column_of(folded, after)
}

impl FriOps for TrefoilBackend {
    fn fold_line(
        eval: &LineEvaluation<Self>,
        alpha: SecureField,
        twiddles: &TwiddleTree<Self>,
        fold_step: u32,
    ) -> LineEvaluation<Self> {
        assert!(fold_step >= 1, "a layer folds once at least");
        let params = FriFoldParams { log_size: eval.len().ilog2(), folds: fold_step, on_circle: 0 };
        let domain = eval.domain().repeated_double(fold_step);
        LineEvaluation::new(domain, fold(&eval.values, params, alpha, twiddles))
    }

    fn fold_circle_into_line(
        src: &SecureEvaluation<Self, BitReversedOrder>,
        alpha: SecureField,
        twiddles: &TwiddleTree<Self>,
    ) -> LineEvaluation<Self> {
        let log_size = src.domain.log_size();
        queries::note_first_layer(log_size);
        let params = FriFoldParams { log_size, folds: 1, on_circle: 1 };
        let domain = LineDomain::new(src.domain.half_coset);
        LineEvaluation::new(domain, fold(&src.values, params, alpha, twiddles))
    }

    /// On the host: no prover asks for it.
    fn decompose(
        eval: &SecureEvaluation<Self, BitReversedOrder>,
    ) -> (SecureEvaluation<Self, BitReversedOrder>, SecureField) {
        let (g, lambda) = CpuBackend::decompose(&eval.to_cpu());
        let values = SecureColumnByCoords { columns: g.values.columns.map(Into::into) };
        (SecureEvaluation::new(g.domain, values), lambda)
    }
}
