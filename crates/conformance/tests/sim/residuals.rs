//! Residuals that are compressed on a fork of the queue while the main one applies others and rolls out an ensemble: the bits of
//! doing it in turn, in memory that does not grow.

use backend_api::{
    Buffer as _, Fork,
    ops::{linalg::LinalgOps, recurrent::RecurrentOps},
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{CudaConfig, CudaQueue};
use cuda_sim::driver::simulate;
use nn_ops::{
    GruColumns, GruMember, GruWeights, NnError, ResidualPlan, RssmHead, RssmOperands, RssmPlan, RssmSpec, RssmTensors,
    SvdOptions, SvdPower, TensorMut, TensorRef,
};

const BATCH: usize = 3;
const INPUT: usize = 4;
const HIDDEN: usize = 5;

/// The work of each turn.
#[derive(Clone, Copy)]
struct Stream {
    /// Of the matrix that residuals are applied to; its first elements are the features of the roll-outs.
    shape: [usize; 2],
    rank: usize,
    turns: usize,
    /// Whether residuals are compressed on a fork.
    forks: bool,
}

/// Residual number `turn`.
fn residual(len: usize, turn: usize) -> Vec<f32> {
    let element = |i: usize| ((i * i * 31 + turn * 17 + i) % 101) as f32 / 50.0 - 1.0;
    (0..len).map(element).collect()
}

/// An ensemble of two.
fn ensemble<Q: RecurrentOps>(q: &Q) -> Result<GruWeights<Q>, NnError> {
    let values = |len: usize, seed: usize| residual(len, seed).iter().map(|x| 0.4 * x).collect::<Vec<f32>>();
    let unit = |seed: usize| {
        let (w, u) = (values(INPUT * 3 * HIDDEN, seed), values(HIDDEN * 3 * HIDDEN, seed + 1));
        GruMember::new(INPUT, HIDDEN, GruColumns { w, u, b: values(3 * HIDDEN, seed + 2), bu: None })
    };
    GruWeights::new(q, &[unit(1)?, unit(5)?])
}

impl Stream {
    /// Compresses residuals and adds what they stand for to a matrix. Residual t is compressed while the one before is applied
    /// and the next roll-out runs, into the other of two slots. Returns the matrix and the losses of the last roll-out.
    fn run<Q: Fork + LinalgOps + RecurrentOps>(self, q: &Q) -> Result<[Vec<f32>; 2], NnError> {
        let Self { shape, rank, turns, forks } = self;
        let len = shape[0] * shape[1];
        let options = SvdOptions { oversample: 4, power: SvdPower::Given(1), seed: 3 };
        let plan = ResidualPlan::new(shape[0], shape[1], rank, options)?;
        let mut workspace = plan.workspace(q)?;
        let mut slots = [plan.compressed(q)?, plan.compressed(q)?];
        let (mut w, mut error) = (q.zeros::<f32>(len)?, q.zeros::<f32>(len)?);
        let inputs = (0..3).map(|turn| q.upload(&residual(len, turn))).collect::<Result<Vec<_>, _>>()?;

        let weights = ensemble(q)?;
        let spec = RssmSpec { batch: BATCH, steps: 2, stochastic: 2, ..RssmSpec::default() };
        let rollout = RssmPlan::new(&weights, spec)?;
        let (head, first) = (q.upload(&residual(HIDDEN + 2, 8))?, q.zeros::<f32>(2 * BATCH * HIDDEN)?);
        let losses = q.zeros::<f32>(2 * BATCH)?;
        let mut results = RssmTensors::new(q, &rollout)?;

        let branch = forks.then(|| q.fork()).transpose()?;
        let mut live = 0;
        for turn in 0..=turns {
            let [current, before] = &mut slots;
            if turn < turns {
                let input = TensorRef::contiguous(inputs[turn % 3].view(), &shape)?;
                let on = branch.as_ref().unwrap_or(q);
                plan.compress_with_feedback(on, input, &mut error, current, &mut workspace)?;
            }
            if turn > 0 {
                plan.apply(q, 0.5, before, TensorMut::contiguous(w.view_mut(), &shape)?)?;
            }
            let head = RssmHead::new(TensorRef::contiguous(head.view(), &[HIDDEN + 2])?);
            let operands = RssmOperands {
                features: TensorRef::contiguous(w.view(), &[BATCH, INPUT])?,
                first: TensorRef::contiguous(first.view(), &[2, BATCH, HIDDEN])?,
                losses: TensorRef::contiguous(losses.view(), &[2, BATCH])?,
            };
            rollout.run(q, &weights, head, operands, results.at_mut())?;
            if let Some(branch) = &branch {
                q.join(branch)?; // before the residual is applied
            }
            slots.swap(0, 1);
            if turn % 32 == 0 || turn == turns {
                q.finish()?; // what ops took for themselves is back
                if turn == 32 {
                    live = q.budget().live_bytes();
                }
                assert!(
                    turn <= 32 || q.budget().live_bytes() == live,
                    "{} bytes at turn {turn}",
                    q.budget().live_bytes()
                );
            }
        }
        for slot in &slots {
            assert_eq!(slot.factors().rank(q)?, rank);
        }
        Ok([q.download(&w)?, results.trajectory.values(q)?])
    }

    fn in_turn(self) -> Self {
        Self { forks: false, ..self }
    }
}

const STREAMED: Stream = Stream { shape: [72, 66], rank: 4, turns: 3, forks: true };

#[test]
fn streamed_residuals_have_the_bits_of_residuals_in_turn() {
    let q = CpuQueue::open(CpuConfig::default()).unwrap();
    let expected = STREAMED.in_turn().run(&q).unwrap();
    assert_eq!(expected, STREAMED.run(&q).unwrap());
    let mut of_device = None;
    for schedule in ["eager", "lazy", "random;seed=9"] {
        let session = simulate(&format!("schedule={schedule}")).unwrap();
        let q = CudaQueue::open(CudaConfig::default()).unwrap();
        let in_turn = STREAMED.in_turn().run(&q).unwrap();
        assert_eq!(in_turn, STREAMED.run(&q).unwrap(), "{schedule}");
        assert_eq!(&in_turn, of_device.get_or_insert_with(|| in_turn.clone()), "{schedule}");
        drop(q);
        assert_eq!(session.reports(), []);
    }
    for (expected, of_device) in expected.iter().zip(&of_device.unwrap()) {
        let far = expected.iter().zip(of_device).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-4, "processor and device differ by {far}");
    }
}

#[test]
fn a_thousand_streamed_residuals_take_no_more_memory_than_a_few() {
    let long = Stream { shape: [6, 5], rank: 2, turns: 1000, forks: true };
    let q = CpuQueue::open(CpuConfig::default()).unwrap();
    assert_eq!(long.in_turn().run(&q).unwrap(), long.run(&q).unwrap());
    let session = simulate("schedule=random;seed=5").unwrap();
    let q = CudaQueue::open(CudaConfig::default()).unwrap();
    long.run(&q).unwrap();
    drop(q);
    assert_eq!(session.reports(), []);
}
