//! The simulated driver as a choice of the user, in a process of its own: the driver of a process is chosen once.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use backend_api::{BackendError, BackendKind, Buffer, Fork, Queue, Record, Timed};
use runtime::{AnyQueue, Choice, Domain, Settings, Unavailable, availability, cuda_facts, open_with};

fn settings() -> Settings {
    Settings { simulated: Some("devices=2;mem=32M".parse().unwrap()), ..Settings::default() }
}

fn open(settings: &Settings, choice: Choice) -> AnyQueue {
    let (queue, status) = open_with(settings, Some(Domain::Stark), Some(choice)).unwrap();
    assert_eq!((status.requested, status.active, status.fallback), (choice, choice, None));
    queue
}

#[test]
fn the_simulator_is_opened_by_name_and_is_no_gpu() {
    let first = open(&settings(), Choice::Sim);
    assert_eq!(first.caps().kind, BackendKind::Cuda);
    let mut words = first.upload(&[1u32, 2, 3]).unwrap();

    // Another queue does not disturb the first one; settings reach it.
    let limited = Settings { mem_limit_bytes: Some(1 << 20), cuda_device: 1, ..settings() };
    let second = open(&limited, Choice::Sim);
    assert_eq!(second.budget().limit_bytes(), 1 << 20);
    assert_eq!(first.download(&words).unwrap(), [1, 2, 3]);
    let branch = first.fork().unwrap();
    branch.write(&[4, 5, 6], words.view_mut()).unwrap();
    first.join(&branch).unwrap();
    let graph = first.record(|queue| queue.write(&[7, 8, 9], words.view_mut())).unwrap().unwrap();
    assert_eq!(first.download(&words).unwrap(), [4, 5, 6]);
    first.replay(&graph).unwrap();
    assert_eq!(first.download(&words).unwrap(), [7, 8, 9]);

    // Queues of different backends do not mix.
    let host = open(&settings(), Choice::Cpu);
    assert_eq!(host.download(&words), Err(BackendError::MixedBackend { op: "read" }));
    assert_eq!(host.join(&first), Err(BackendError::MixedBackend { op: "join" }));
    let [ours, theirs, elsewhere] = [&first, &host, &second].map(|queue| queue.mark().unwrap());
    assert!(first.elapsed_ns(&ours, &first.mark().unwrap()).unwrap() >= 0);
    for foreign in [&theirs, &elsewhere] {
        assert_eq!(first.elapsed_ns(&ours, foreign), Err(BackendError::MixedBackend { op: "elapsed_ns" }));
    }

    // A simulated device is never taken for a GPU.
    assert!(open_with(&settings(), Some(Domain::Pfss), Some(Choice::Gpu)).is_err());
    let (_, status) = open_with(&settings(), None, Some(Choice::Auto)).unwrap();
    assert_eq!((status.active, status.fallback), (Choice::Cpu, Some(Unavailable::OnlySimulated)));
    let facts = cuda_facts(&settings()).unwrap();
    assert!(facts.simulated && facts.devices.len() == 2);
    let states = availability(&settings()).map(|(choice, state)| (choice, state.is_ok()));
    assert_eq!(states, [(Choice::Cpu, true), (Choice::Gpu, false), (Choice::Sim, true)]);
}
