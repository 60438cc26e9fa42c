//! A gated recurrent unit that learns to recall, after ten steps, which of four classes it was shown at the first one.

use std::error::Error;

use trefoil::CpuQueue;
use trefoil::nn_ops::{
    CrossEntropyResults, GruInputs, GruPlan, GruVariant, GruWeights, Init, LinearBackwardPlan, LinearGradients, Tensor,
    axpby, cross_entropy, matmul,
};

/// Sequences `[10, 64, 8]` and their classes: a one among the first four features of the first step, noise in the others.
fn sequences(q: &CpuQueue) -> Result<(Tensor<CpuQueue, f32>, Tensor<CpuQueue, u32>), Box<dyn Error>> {
    let mut x = Init::Uniform { low: -1.0, high: 1.0 }.values(&[10, 64, 8], 7, 0)?;
    let y: Vec<u32> = (0..64).map(|row| row * 5 % 4).collect();
    for (features, &class) in x.chunks_exact_mut(8).zip(&y) {
        (0..4).for_each(|feature| features[feature] = if feature == class as usize { 1.0 } else { 0.0 });
    }
    x[64 * 8..].chunks_exact_mut(8).for_each(|features| features[..4].fill(0.0));
    Ok((Tensor::from_values(q, &[10, 64, 8], &x)?, Tensor::from_values(q, &[64], &y)?))
}

/// The loss before the last of `count` steps of gradient descent.
fn train(count: usize) -> Result<f32, Box<dyn Error>> {
    let q = trefoil::cpu()?;
    let (x, y) = sequences(&q)?;
    let mut unit = GruWeights::random(&q, 1, [8, 32], GruVariant::ResetBefore, 1)?;
    let mut head = Tensor::random(&q, &[32, 4], Init::Glorot, 1, 100)?;
    let mut pass = GruPlan::new(&unit, 64, 10, GruInputs::Sequence)?.pass(&q, &unit)?;
    let (mut logits, mut of_logits) = (Tensor::alloc(&q, &[64, 4])?, Tensor::alloc(&q, &[64, 4])?);
    let (mut of_last, mut of_head) = (Tensor::alloc(&q, &[64, 32])?, Tensor::alloc(&q, &[32, 4])?);
    let mut losses = Tensor::alloc(&q, &[64])?;
    for _ in 0..count {
        pass.forward(&q, &unit, x.at(), None)?;
        let last = pass.last().at().reshaped(&[64, 32])?;
        matmul(&q, last, head.at(), logits.at_mut())?;
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: of_logits.at_mut() };
        cross_entropy(&q, 1.0 / 64.0, logits.at(), y.at(), results)?;
        let gradients = LinearGradients { x: Some(of_last.at_mut()), w: of_head.at_mut(), bias: None };
        LinearBackwardPlan::new(last.layout(), head.layout())?.run(&q, last, head.at(), of_logits.at(), gradients)?;
        pass.backward(&q, &unit, x.at(), of_last.at().reshaped(&[1, 64, 32])?)?;
        axpby(&q, -3.0, pass.of_weights().at()?, 1.0, unit.at_mut()?)?;
        axpby(&q, -3.0, of_head.at(), 1.0, head.at_mut())?;
    }
    Ok(losses.values(&q)?.iter().sum::<f32>() / 64.0)
}

#[test]
fn a_recurrent_unit_learns_to_recall() -> Result<(), Box<dyn Error>> {
    let (first, last) = (train(1)?, train(100)?);
    assert!((first - 4f32.ln()).abs() < 0.2 && last < 0.05, "{first} {last}");
    Ok(())
}

/// The program takes no more lines than this.
#[test]
fn the_program_is_short() {
    let text = include_str!("recall.rs");
    let (_, program) = text.split_once("fn train").expect("the program");
    let (body, _) = program.split_once("\n}\n").expect("its end");
    assert!(body.lines().count() <= 25, "{} lines", body.lines().count());
}
