//! Residuals that are compressed on a fork of the queue while the main one applies others: the bits of doing it in
//! turn.

use backend_api::{Buffer as _, Fork, ops::linalg::LinalgOps};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{CudaConfig, CudaQueue};
use cuda_sim::driver::simulate;
use nn_ops::{NnError, ResidualPlan, SvdOptions, SvdPower, TensorMut, TensorRef};

const SHAPE: [usize; 2] = [72, 66];
const TURNS: usize = 3;

/// Residual number `turn`.
fn residual(turn: usize) -> Vec<f32> {
    let element = |i: usize| ((i * i * 31 + turn * 17 + i) % 101) as f32 / 50.0 - 1.0;
    (0..SHAPE[0] * SHAPE[1]).map(element).collect()
}

/// Compresses residuals and adds what they stand for to a matrix, which is read at the end. Residual t is compressed
/// while the one before is applied, into the other of two slots, if `streams`.
fn run<Q: Fork + LinalgOps>(q: &Q, streams: bool) -> Result<Vec<f32>, NnError> {
    let options = SvdOptions { oversample: 4, power: SvdPower::Given(1), seed: 3 };
    let plan = ResidualPlan::new(SHAPE[0], SHAPE[1], 4, options)?;
    let mut workspace = plan.workspace(q)?;
    let mut slots = [plan.compressed(q)?, plan.compressed(q)?];
    let (mut w, mut error) = (q.zeros::<f32>(SHAPE[0] * SHAPE[1])?, q.zeros::<f32>(SHAPE[0] * SHAPE[1])?);
    let inputs = (0..TURNS).map(|turn| q.upload(&residual(turn))).collect::<Result<Vec<_>, _>>()?;
    let branch = streams.then(|| q.fork()).transpose()?;
    for turn in 0..=TURNS {
        let [current, before] = &mut slots;
        if let Some(input) = inputs.get(turn) {
            let input = TensorRef::contiguous(input.view(), &SHAPE)?;
            let on = branch.as_ref().unwrap_or(q);
            plan.compress_with_feedback(on, input, &mut error, current, &mut workspace)?;
        }
        if turn > 0 {
            plan.apply(q, 0.5, before, TensorMut::contiguous(w.view_mut(), &SHAPE)?)?;
        }
        if let Some(branch) = &branch {
            q.join(branch)?; // before the residual is applied
        }
        slots.swap(0, 1);
    }
    let rank = slots.iter().map(|slot| slot.factors().rank(q)).sum::<Result<usize, NnError>>()?;
    assert_eq!(rank, 8);
    Ok(q.download(&w)?)
}

#[test]
fn streamed_residuals_have_the_bits_of_residuals_in_turn() {
    let q = CpuQueue::open(CpuConfig::default()).unwrap();
    let expected = run(&q, false).unwrap();
    assert_eq!(expected, run(&q, true).unwrap());
    let mut of_device = None;
    for schedule in ["eager", "lazy", "random;seed=9"] {
        let session = simulate(&format!("schedule={schedule}")).unwrap();
        let q = CudaQueue::open(CudaConfig::default()).unwrap();
        let in_turn = run(&q, false).unwrap();
        assert_eq!(in_turn, run(&q, true).unwrap(), "{schedule}");
        assert_eq!(&in_turn, of_device.get_or_insert_with(|| in_turn.clone()), "{schedule}");
        drop(q);
        assert_eq!(session.reports(), []);
    }
    let of_device = of_device.unwrap();
    let far = expected.iter().zip(&of_device).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(far < 1e-4, "processor and device differ by {far}");
}
