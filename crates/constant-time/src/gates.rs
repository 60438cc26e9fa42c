//! Gates of every kind.

use anyhow::Result;
use pfss::{
    Gate,
    suf::{BoolExpr, BoolMode, CoeffMode, Piece, Pred, PredProgram, SufDesc, SufModes, SufProgram, SufSpec},
};

/// Every kind of gate, with several keys where they have several forms.
pub(crate) fn all() -> Result<Vec<Gate>> {
    let mut gates = vec![
        Gate::full_predicates(33)?.with_masks(2)?,
        Gate::sign_predicates(16)?.with_masks(1)?,
        Gate::low_predicates(64, 12)?.with_masks(1)?,
        Gate::relu(64)?,
        Gate::relu_within(64, 22)?,
        Gate::truncate_reduce(40, 9)?,
        Gate::gap_ars(64, 12)?,
        Gate::gap_ars(64, 12)?.in_one_round()?,
        Gate::interval_powers(64, 2)?,
        Gate::lrs(64, 12)?,
        Gate::ars(64, 12)?,
        Gate::relu_ars(64, 12)?,
        Gate::lut(9, 40)?,
        Gate::product(64)?,
    ];
    for modes in suf_modes() {
        gates.push(suf(modes)?);
    }
    Ok(gates)
}

/// The modes that together use every kind of key and exchange.
pub(crate) fn suf_modes() -> [SufModes; 3] {
    let modes = |preds, coeffs, bools| SufModes { preds, coeffs, bools };
    [
        modes(PredProgram::SharedAlpha, CoeffMode::MaskedSelect, BoolMode::Additive),
        modes(PredProgram::SharedAlpha, CoeffMode::IntervalLut, BoolMode::XorPacked),
        modes(PredProgram::StepDcf, CoeffMode::StepDcf, BoolMode::Additive),
    ]
}

/// Two pieces, a bit over all bits of `x` and one over two classes of them.
pub(crate) fn suf(modes: SufModes) -> Result<Gate> {
    let piece = |start, poly: &[u64]| Piece {
        start,
        polys: vec![poly.to_vec()],
        bools: vec![BoolExpr::Var(0), BoolExpr::Var(0) & BoolExpr::Var(1)],
    };
    let desc = SufDesc::new(SufSpec {
        n: 20,
        degree: 2,
        words: vec!["y".into()],
        bools: vec!["a".into(), "b".into()],
        preds: vec![Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 9, gamma: 100 }],
        pieces: vec![piece(0, &[1, 2, 3]), piece(70_000, &[4, 5])],
    })?;
    Ok(Gate::suf(SufProgram::new(desc, modes)?))
}
