//! Measurements of a batch in the queues of its device.

use core::time::Duration;

use pfss::batch::{BatchConfig, DeviceTimes, Fit, Streams, SuperBatch, finalize_lockstep};
use runtime::AnyQueue;

use crate::{
    batch::common::relu,
    common::{
        flat,
        queues::{Sim, cpu},
    },
};

/// The times of a flush in several parts, and of two.
fn measured(q: &AnyQueue) -> [DeviceTimes; 2] {
    let streams = Streams::fork(q).unwrap();
    let config = BatchConfig { part: 64, fit: Fit::Split, slots: 3, ..BatchConfig::default() };
    let batch = || SuperBatch::new(q, Some(&streams), config).unwrap();
    let [mut zero, mut one] = [batch().marked(), batch()];
    [4, 5].map(|seed| {
        let case = relu(300, seed);
        let [first, second] = case.jobs();
        let handles = [zero.enqueue(first).unwrap(), one.enqueue(second).unwrap()];
        zero.flush().unwrap();
        one.flush().unwrap();
        finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap();
        let got = [flat(zero.shares(handles[0]).unwrap()), flat(one.shares(handles[1]).unwrap())];
        assert_eq!(got, case.expected());
        let (times, unmarked) = (zero.counters().device, one.counters().device);
        assert_eq!(unmarked, DeviceTimes::default());
        zero.clear().unwrap();
        one.clear().unwrap();
        times
    })
}

fn check([first, second]: [DeviceTimes; 2]) {
    for times in [first, second] {
        for stage in [times.copy_in, times.walk, times.copy_out] {
            assert!(stage > Duration::ZERO, "{times:?}");
        }
        // walks follow each other in one queue, and so do copies of results
        assert!(times.walk <= times.wall && times.copy_out <= times.wall, "{times:?}");
        assert!(times.overlap().unwrap() <= 1.0, "{times:?}");
    }
    assert!(second.copy_in > first.copy_in && second.walk > first.walk && second.copy_out > first.copy_out);
    assert!(second.wall > first.wall);
}

#[test]
fn a_processor_does_one_thing_after_the_other() {
    let times = measured(&cpu(None));
    check(times);
    for times in times {
        assert!(times.copies() + times.walk <= times.wall, "{times:?}");
    }
}

#[test]
fn stages_are_measured_in_the_streams_of_the_simulated_device() {
    for schedule in ["schedule=eager", "schedule=lazy", "schedule=random;seed=3"] {
        let sim = Sim::new(schedule);
        check(measured(&sim.queue(None)));
        assert_eq!(sim.session.reports(), []);
    }
}
