//! Layer norm.

use std::sync::Arc;

use backend_api::Buffer;
use nn_ops::{Layout, NormAffine, NormGradients, NormPlan, NormResults, NormSaved, TensorMut, TensorRef};

use super::lengths::{exact, exact_if};
use crate::{
    args::{Affine, LayerNormGradients},
    dispatcher::BackendDispatcher,
    error::DispatchError,
    handle::Operand,
    saved::{Pass, Saved},
};

pub(crate) fn layer_norm(
    d: &BackendDispatcher,
    x: Operand<'_>,
    affine: Affine<'_>,
    (shape, eps): ([usize; 2], f32),
    y: &mut [f32],
) -> Result<Saved, DispatchError> {
    const OP: &str = "layer_norm";
    let [rows, columns] = shape;
    let plan = NormPlan::new(&shape, eps)?;
    let layouts = [Layout::contiguous(&shape)?, Layout::contiguous(&[columns])?, Layout::contiguous(&[2, rows])?];
    let [of_rows, of_columns, of_stats] = layouts;
    exact(OP, "x", of_rows.numel(), x.values().len())?;
    exact_if(OP, "gamma", columns, affine.gamma.map(|gamma| gamma.values().len()))?;
    exact_if(OP, "beta", columns, affine.beta.map(|beta| beta.values().len()))?;
    exact(OP, "y", of_rows.numel(), y.len())?;
    d.run(|target| {
        // Operands and room.
        let x = target.stage(x, &d.counts)?;
        let gamma = affine.gamma.map(|gamma| target.stage(gamma, &d.counts)).transpose()?;
        let beta = affine.beta.map(|beta| target.stage(beta, &d.counts)).transpose()?;
        let (mut room, mut stats) = (target.room(y)?, plan.layer_stats(&target.queue)?);
        // The norm.
        let columns = NormAffine {
            gamma: gamma.as_ref().map(|gamma| gamma.at(of_columns)).transpose()?,
            beta: beta.as_ref().map(|beta| beta.at(of_columns)).transpose()?,
        };
        let results = NormResults { y: room.at(of_rows)?, stats: TensorMut::new(stats.view_mut(), of_stats)? };
        plan.layer_norm(&target.queue, x.at(of_rows)?, columns, results)?;
        room.deliver(target)?;
        // The operands of the backward pass.
        let (has_gamma, kept) = (gamma.is_some(), gamma.and_then(|gamma| gamma.kept()));
        let stats = Arc::new(stats);
        Ok(target.saved(Pass::LayerNorm { shape, eps, x: x.kept(), has_gamma, gamma: kept, stats }))
    })
}

pub(crate) fn layer_norm_backward(
    d: &BackendDispatcher,
    saved: &Saved,
    [x, g]: [Operand<'_>; 2],
    gamma: Option<Operand<'_>>,
    gradients: LayerNormGradients<'_>,
) -> Result<(), DispatchError> {
    const OP: &str = "layer_norm_backward";
    let Pass::LayerNorm { shape, eps, x: kept_x, has_gamma, gamma: kept_gamma, stats } = &saved.pass else {
        return Err(saved.refused(OP, "layer_norm"));
    };
    let [rows, columns] = *shape;
    let plan = NormPlan::new(shape, *eps)?;
    let layouts = [Layout::contiguous(shape)?, Layout::contiguous(&[columns])?, Layout::contiguous(&[2, rows])?];
    let [of_rows, of_columns, of_stats] = layouts;
    let LayerNormGradients { x: dx, gamma: mut dgamma, beta: mut dbeta } = gradients;
    exact(OP, "x", of_rows.numel(), x.values().len())?;
    exact(OP, "g", of_rows.numel(), g.values().len())?;
    exact(OP, "gamma", if *has_gamma { columns } else { 0 }, gamma.map_or(0, |gamma| gamma.values().len()))?;
    exact(OP, "dx", of_rows.numel(), dx.len())?;
    exact_if(OP, "dgamma", columns, dgamma.as_deref().map(<[f32]>::len))?;
    exact_if(OP, "dbeta", columns, dbeta.as_deref().map(<[f32]>::len))?;
    d.run_backward(OP, saved, |target, is_own| {
        // Operands and room.
        let (x, g) = (target.recall(kept_x, is_own, x, &d.counts)?, target.stage(g, &d.counts)?);
        let gamma = gamma.map(|gamma| target.recall(kept_gamma, is_own, gamma, &d.counts)).transpose()?;
        let stats = target.transferred(saved, stats, is_own)?;
        let mut of_x = target.room(dx)?;
        let mut of_gamma = dgamma.as_deref_mut().map(|dgamma| target.room(dgamma)).transpose()?;
        let mut of_beta = dbeta.as_deref_mut().map(|dbeta| target.room(dbeta)).transpose()?;
        // The gradients.
        let pass = NormSaved {
            x: x.at(of_rows)?,
            gamma: gamma.as_ref().map(|gamma| gamma.at(of_columns)).transpose()?,
            stats: TensorRef::new(stats.view(), of_stats)?,
        };
        let rooms = NormGradients {
            x: of_x.at(of_rows)?,
            gamma: of_gamma.as_mut().map(|room| room.at(of_columns)).transpose()?,
            beta: of_beta.as_mut().map(|room| room.at(of_columns)).transpose()?,
        };
        plan.layer_norm_backward(&target.queue, pass, g.at(of_rows)?, rooms)?;
        of_x.deliver(target)?;
        of_gamma.map(|room| room.deliver(target)).transpose()?;
        of_beta.map(|room| room.deliver(target)).transpose()?;
        Ok(())
    })
}
