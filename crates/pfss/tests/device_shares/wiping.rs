//! Products, softmax of ragged rows and failed copies leave no secret in memory.

use backend_api::Queue as _;
use cuda_sim::driver::Rule;
use pfss::{
    Dealer, DeviceShares, Gate, GateKind, KeyBundle, MatrixShape, Party, PfssError, Session, SignedRange,
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::SufModes,
};
use runtime::AnyQueue;
use test_process::alone;

use crate::{
    common::{WORDS, queues::Sim, words},
    wiping::{Echo, blocks, buffer, found, queue, shares, shares_of_zeros},
};

/// A product whose masks are 64 KiB and more, so that a device expands them.
#[test]
fn products_by_matrices_in_host_memory_leave_no_expanded_mask_on_a_device() {
    alone(|| {
        let shape = MatrixShape { batch: 1, rows: 405, inner: 10, cols: 10 };
        let [left, right, _] = shape.lens();
        let deal = || {
            let [triple, _] = Dealer::insecure_from_seed(10).deal_matrix(&queue(), WORDS, shape).unwrap();
            triple
        };
        let (masks, product) =
            shares_of_zeros(|session| session.matmul(&queue(), deal(), [&vec![0; left], &vec![0; right]]).unwrap());
        // The last rows stay in the shared memory of the product's last block.
        let watched = [masks[0], masks[77], masks[500], product[77]];
        drop((masks, product));
        let (x, y, triple) = (words(left, 1), words(right, 2), deal());
        let run = || {
            let sim = Sim::new("");
            let q = sim.queue(None);
            let mut echo = Echo(Vec::new());
            let x = DeviceShares::upload(&q, Party::Zero, WORDS, &x).unwrap();
            drop(Session::new(&mut echo).matmul_by_host_on_device(triple, &x, &y).unwrap());
            let expanded = sim.session.counters().launches_of.get("fss_expand_seed").copied();
            assert!(expanded > Some(0), "the masks are expanded on the device");
            drop(x);
            drop(q);
            drop(sim);
            drop(Sim::new("")); // frees the memory of the first machine
        };
        assert_eq!(found(watched, run), 0);
    });
}

/// The softmax of rows of different lengths, in host memory or on the queue.
fn softmax(q: &AnyQueue, plan: &SecureSoftmaxPlan, bundles: Vec<KeyBundle>, x: &[u64], on_device: bool) {
    let (mut echo, mut bundles) = (Echo(Vec::new()), bundles.into_iter());
    let mut session = Session::new(&mut echo);
    let next = || bundles.next().ok_or(PfssError::OpenInputs);
    if on_device {
        let x = DeviceShares::upload(q, Party::Zero, WORDS, x).unwrap();
        drop(session.softmax_on_device_from(plan, next, &x).unwrap());
    } else {
        drop(session.softmax_from(q, plan, next, x).unwrap());
    }
}

#[test]
fn softmax_of_ragged_rows_leaves_no_mask_and_no_share() {
    alone(|| {
        // No other buffer has this length.
        let layout = RowLayout::ragged(77, &[77, 3, 0, 57]).unwrap();
        let logits = SignedRange::new(-(1 << 20), 1 << 20).unwrap();
        let plan = SecureSoftmaxPlan::by_table(layout.clone(), logits, SufModes::default()).unwrap();
        let deal = || {
            let [zero, _] = Dealer::insecure_from_seed(8).deal_all(&queue(), &plan.deals()).unwrap();
            zero
        };
        let x = words(layout.active(), 3);
        // The first and the last mask of each gate whose ring has too many bits for accidents.
        let masks: Vec<u64> = deal()
            .into_iter()
            .filter(|bundle| bundle.gate().n() > 32)
            .flat_map(|bundle| {
                let inputs = if bundle.gate().kind() == GateKind::Product { 2 } else { 1 };
                let zeros = vec![0; inputs * bundle.count()];
                let (masks, _) = bundle.mask(&zeros).unwrap();
                [masks[0], masks[masks.len() - 1]]
            })
            .collect();
        assert!(masks.len() >= 16, "{} masks", masks.len());
        for on_device in [false, true] {
            for watched in masks.as_chunks().0.iter().chain([&[x[0], x[76], x[77], x[layout.active() - 1]]]) {
                let bundles = deal();
                let left = found(*watched, || softmax(&queue(), &plan, bundles, &x, on_device));
                assert_eq!(left, 0, "on a device: {on_device}");
            }
        }
        // Shares that are moved, summed and multiplied there.
        let bundles = deal();
        let watched = blocks(buffer(8 * layout.active()), || softmax(&queue(), &plan, bundles, &x, true));
        assert!(watched.0 > 0 && watched.1 == 0, "{watched:?}");
    });
}

/// Parts that have arrived before the last one fails.
#[test]
fn a_failed_copy_of_shares_to_the_host_leaves_none_there() {
    const LEN: usize = (8 << 20) / 8 + 4;
    alone(|| {
        let (sim, x) = (Sim::new(""), words(LEN, 4));
        let q = sim.queue(None);
        let (shares, plain) = (DeviceShares::upload(&q, Party::Zero, WORDS, &x).unwrap(), q.upload(&x).unwrap());
        let failing = |copy: &dyn Fn() -> Result<Vec<u64>, PfssError>| {
            sim.session.inject("fail=1@cuMemcpyDtoHAsync_v2:3".parse::<Rule>().unwrap());
            let left = blocks(8 * LEN, || assert!(matches!(copy(), Err(PfssError::Backend(_)))));
            sim.session.clear_faults();
            left
        };
        assert_eq!(failing(&|| shares.download()), (1, 0));
        // Words that are no secrets are left.
        let (copies, left) = failing(&|| Ok(q.download(&plain)?));
        assert!(copies == 1 && left > 0, "{left} bytes");
    });
}

/// Masked inputs are sent, and stay in freed memory.
///
/// Under masks that were spent before, they are not sent.
#[test]
fn inputs_under_spent_masks_leave_no_word_in_device_memory() {
    alone(|| {
        let (x, gate) = (shares(), Gate::relu(64).unwrap());
        let other: Vec<u64> = x.iter().map(|word| word.wrapping_mul(3)).collect();
        for is_spent in [false, true] {
            let [_, keys] = Dealer::from_os().unwrap().deal(&queue(), &gate, x.len()).unwrap();
            let bytes = keys.to_bytes();
            let read = || KeyBundle::from_bytes(&bytes).unwrap();
            let (masked, _) = read().insecure_reusable().mask(if is_spent { &other } else { &x }).unwrap();
            let run = || {
                let sim = Sim::new("");
                let q = sim.queue(None);
                let on_device = |x| DeviceShares::upload(&q, Party::One, WORDS, x).unwrap();
                let first = read().mask_on_device(&on_device(&x)).unwrap();
                let second = read().mask_on_device(&on_device(&other));
                assert!(matches!(second, Err(PfssError::ReusedBundle { .. })), "{second:?}");
                drop((first, second));
                drop(q);
                drop(sim);
                drop(Sim::new("")); // frees the memory of the first machine
            };
            let left = found([masked[0], masked[1], masked[500], masked[x.len() - 1]], run);
            assert_eq!(left > 0, !is_spent, "{left} words of masked inputs");
        }
    });
}
