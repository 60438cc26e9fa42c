//! The two ways in which a device rolls an ensemble out give the same bits, and it takes the one that fits.

use cuda_backend::{CudaConfig, CudaQueue};
use cuda_sim::driver::simulate;
use nn_ops::{
    Feedback, GruColumns, GruMember, GruWeights, Init, RssmHead, RssmOperands, RssmPlan, RssmSpec, RssmTensors, Tensor,
};

const MEMBERS: usize = 2;
const BATCH: usize = 5;
const STEPS: usize = 3;
const INPUT: usize = 4;
const STOCHASTIC: usize = 6;

/// Rolls out units with `hidden` states on a simulated machine.
///
/// Returns the results and the names of the launched kernels.
fn rolled_out(machine: &str, hidden: usize, feedback: Feedback) -> (Vec<Vec<u32>>, Vec<String>) {
    let session = simulate(machine).unwrap();
    let q = CudaQueue::open(CudaConfig::default()).unwrap();
    let drawn = |shape: &[usize], site: u32| Init::Glorot.values(shape, 3, site).unwrap();
    let member = |number: u32| {
        let (w, u) = (drawn(&[INPUT, 3 * hidden], 2 * number), drawn(&[hidden, 3 * hidden], 2 * number + 1));
        GruMember::new(INPUT, hidden, GruColumns { w, u, b: drawn(&[3 * hidden], 9), bu: None }).unwrap()
    };
    let weights = GruWeights::new(&q, &[member(0), member(1)]).unwrap();
    let spec = RssmSpec { batch: BATCH, steps: STEPS, stochastic: STOCHASTIC, feedback, ..RssmSpec::default() };
    let plan = RssmPlan::new(&weights, spec).unwrap();
    let tensor = |shape: &[usize], site: u32| Tensor::from_values(&q, shape, &drawn(shape, site)).unwrap();
    let both = hidden + STOCHASTIC;
    let (head, x, first, losses) = (
        tensor(&[both], 10),
        tensor(&[BATCH, INPUT], 11),
        tensor(&[MEMBERS, BATCH, hidden], 12),
        tensor(&[MEMBERS, BATCH], 13),
    );
    let mut results = RssmTensors::with_states(&q, &plan).unwrap();
    let operands = RssmOperands { features: x.at(), first: first.at(), losses: losses.at() };
    plan.run(&q, &weights, RssmHead::new(head.at()), operands, results.at_mut()).unwrap();
    let RssmTensors { trajectory, last, combined, entropy, states } = results;
    let bits = [trajectory, last, combined, entropy, states.unwrap()]
        .map(|tensor| tensor.values(&q).unwrap().into_iter().map(f32::to_bits).collect());
    let launched = session.counters().launches_of.into_keys().filter(|name| name.contains("rssm")).collect();
    assert!(session.reports().is_empty(), "{machine}: {:?}", session.reports());
    (bits.into(), launched)
}

#[test]
fn blocks_that_keep_weights_give_the_bits_of_blocks_that_read_them_and_run_where_they_fit() {
    for feedback in [Feedback::PerMember, Feedback::EnsembleMean] {
        // two members, two blocks to each
        let (kept, by) = rolled_out("checks=sanitize;sms=4", 40, feedback);
        assert_eq!(by, ["recurrent_rssm_resident_f32"]);
        let (read, by) = rolled_out("checks=sanitize;sms=3", 40, feedback);
        assert_eq!(by, ["recurrent_rssm_rollout_f32"]);
        assert_eq!(kept, read, "{feedback:?}");
        // a device with less shared memory to a block loads the kernel, and runs it where that suffices
        let (smaller, by) = rolled_out("cc=8.6;sms=4", 40, feedback);
        assert_eq!((by, &smaller), (vec!["recurrent_rssm_resident_f32".to_owned()], &kept));
    }
    let of = |machine| rolled_out(machine, 200, Feedback::PerMember);
    let (read, by) = of("cc=8.6;sms=14");
    assert_eq!(by, ["recurrent_rssm_rollout_f32"]);
    let (kept, by) = of("cc=8.0;sms=14");
    assert_eq!((by, kept), (vec!["recurrent_rssm_resident_f32".to_owned()], read));
    // one block has all states of a row
    assert_eq!(rolled_out("sms=4", 32, Feedback::PerMember).1, ["recurrent_rssm_rollout_f32"]);
}
