//! The simulated driver as a choice of the user.
//!
//! A process chooses its driver once: no other test of the program may choose one.

use backend_api::{
    BackendError, BackendKind, Buffer, Collective, CollectiveError, Fork, Queue, Ranks, Record, Timed,
    ops::{
        linalg::{Axpby, ElementwiseOps},
        recurrent::{GruBackward, RecurrentOps},
    },
};
use collective::Local;
use core_types::params::recurrent::{GruInputs, GruParams, GruVariant};
use runtime::{
    AnyBuf, AnyQueue, AnyRank, Choice, CudaLibrary, Domain, OpenError, ReplayCounts, Replays, Settings, Unavailable,
    availability, cuda_facts, cuda_links, cuda_memory, cuda_queue, open_with, ranks,
};

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

    // Queues of different backends do not mix, nor do queues of two devices or of a device that is opened twice.
    let host = open(&settings(), Choice::Cpu);
    let again = open(&settings(), Choice::Sim);
    assert_eq!(again.caps(), first.caps());
    for (other, shared) in [(&branch, true), (&second, false), (&again, false), (&host, false)] {
        assert_eq!((first.shares_memory(other), other.shares_memory(&first)), (shared, shared));
        assert_eq!(other.download(&words).is_ok(), shared);
    }
    assert!(host.shares_memory(&open(&settings(), Choice::Cpu)));
    assert_eq!(host.download(&words), Err(BackendError::MixedBackend { op: "read" }));
    assert_eq!(host.join(&first), Err(BackendError::MixedBackend { op: "join" }));
    let mut own = host.upload(&[1.0f32; 3]).unwrap();
    let mut on_device = first.upload(&[1.0f32; 3]).unwrap();
    let mixed = Err(BackendError::MixedBackend { op: "axpby" });
    for queue in [&host, &first] {
        let (x, y) = (on_device.view(), own.view_mut());
        assert_eq!(queue.axpby(Axpby { alpha: 1.0, x, beta: 1.0, y }), mixed);
        let (x, y) = (own.view(), on_device.view_mut());
        assert_eq!(queue.axpby(Axpby { alpha: 1.0, x, beta: 1.0, y }), mixed);
    }
    // Nor does one queue's backward pass accept the `saved` buffer of another queue's forward pass.
    let (variant, inputs) = (GruVariant::ResetBefore, GruInputs::Sequence);
    let params = &GruParams { members: 1, batch: 1, steps: 1, input: 1, hidden: 1, variant, inputs };
    let (u, saved) = (host.zeros::<f32>(3).unwrap(), first.zeros::<f32>(5).unwrap());
    let (mut gates, mut state) = (host.zeros::<f32>(3).unwrap(), host.zeros::<f32>(1).unwrap());
    let (d_gates, d_h0) = (gates.view_mut(), state.view_mut());
    let (d_states, d_h_t) = (None, None);
    let backward = GruBackward { params, u: u.view(), saved: saved.view(), d_states, d_h_t, d_gates, d_h0 };
    assert_eq!(host.gru_backward(backward), Err(BackendError::MixedBackend { op: "gru_backward" }));

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

#[test]
fn devices_compute_known_values_before_they_serve_a_domain() {
    let settings = Settings { cuda_library: CudaLibrary::Simulated, ..settings() };
    for (domain, requested, active) in [
        (Domain::Pfss, Choice::Sim, Choice::Sim),
        (Domain::Nn, Choice::Sim, Choice::Sim),
        (Domain::Pfss, Choice::Auto, Choice::Gpu),
    ] {
        let (_, status) = open_with(&settings, Some(domain), Some(requested)).unwrap();
        assert_eq!((status.active, status.fallback), (active, None), "{domain:?}");
    }
    let states = availability(&settings).map(|(choice, state)| (choice, state.is_ok()));
    assert_eq!(states, [(Choice::Cpu, true), (Choice::Gpu, true), (Choice::Sim, true)]);
}

/// `y += x`, recorded at its second use for a key.
#[test]
fn what_is_run_often_is_recorded_once_and_replayed() {
    let q = open(&settings(), Choice::Sim);
    let mut replays: Replays<AnyQueue, usize, [AnyBuf<f32>; 2]> = Replays::new(1);
    let mut run = |len: usize, x: f32| {
        let build = |q: &AnyQueue| Ok::<_, BackendError>([q.alloc(len)?, q.zeros(len)?]);
        let load = |q: &AnyQueue, [input, _]: &mut [AnyBuf<f32>; 2]| q.write(&vec![x; len], input.view_mut());
        let body = |q: &AnyQueue, [input, sum]: &mut [AnyBuf<f32>; 2]| {
            q.axpby(Axpby { alpha: 1.0, x: input.view(), beta: 1.0, y: sum.view_mut() })
        };
        let [_, sum] = replays.run(&q, &len, build, load, body).unwrap();
        assert_eq!(q.download(sum).unwrap().len(), len);
        (q.download(sum).unwrap()[0], replays.counts())
    };
    let counts = |eager, recorded, replayed, evicted| ReplayCounts { eager, fallbacks: 0, recorded, replayed, evicted };
    assert_eq!(run(5, 1.0), (1.0, counts(1, 0, 0, 0)));
    assert_eq!(run(5, 2.0), (3.0, counts(1, 1, 1, 0)));
    assert_eq!(run(5, 4.0), (7.0, counts(1, 1, 2, 0)));
    // Another key takes the only place.
    assert_eq!(run(6, 8.0), (8.0, counts(2, 1, 2, 1)));
    assert_eq!(run(5, 16.0), (16.0, counts(3, 1, 2, 2)));
}

/// The one recording is replayed after a call that failed in each of its parts.
#[test]
fn a_refused_call_leaves_every_recording() {
    #[derive(Clone, Copy, PartialEq)]
    enum CallPart {
        Build,
        Load,
        Body,
    }

    let q = open(&settings(), Choice::Sim);
    let mut replays: Replays<AnyQueue, usize, [AnyBuf<u32>; 2]> = Replays::new(1);
    // Copies words on the device, unless a part of the call is refused.
    let mut run = |len: usize, word: u32, refused: Option<CallPart>| {
        let outcome = |part: CallPart| {
            if refused == Some(part) { Err(BackendError::MixedBackend { op: "refused" }) } else { Ok(()) }
        };
        let build = |q: &AnyQueue| outcome(CallPart::Build).and_then(|()| Ok([q.alloc(len)?, q.alloc(len)?]));
        let load = |q: &AnyQueue, [input, _]: &mut [AnyBuf<u32>; 2]| {
            outcome(CallPart::Load).and_then(|()| q.write(&vec![word; len], input.view_mut()))
        };
        let body = |q: &AnyQueue, [input, copied]: &mut [AnyBuf<u32>; 2]| {
            outcome(CallPart::Body).and_then(|()| q.copy(input.view(), copied.view_mut()))
        };
        let words = replays.run(&q, &len, build, load, body).and_then(|[_, copied]| q.download(copied));
        (words, replays.counts())
    };
    let recorded = |replayed| ReplayCounts { eager: 1, fallbacks: 0, recorded: 1, replayed, evicted: 0 };
    assert_eq!(run(5, 1, None).0.unwrap(), [1; 5]);
    assert_eq!(run(5, 2, None), (Ok(vec![2; 5]), recorded(1)));
    let error = Err(BackendError::MixedBackend { op: "refused" });
    let mut replayed = 1;
    for (len, part) in [(6, CallPart::Build), (6, CallPart::Load), (6, CallPart::Body), (5, CallPart::Load)] {
        assert_eq!(run(len, 3, Some(part)), (error.clone(), recorded(replayed)));
        replayed += 1;
        assert_eq!(run(5, 4, None), (Ok(vec![4; 5]), recorded(replayed)));
    }
    // A call that succeeds takes the place.
    assert_eq!(run(6, 5, None), (Ok(vec![5; 6]), ReplayCounts { eager: 2, evicted: 1, ..recorded(replayed) }));
    // A recording that fails leaves no entry: the next run is a first one again.
    assert_eq!(run(6, 6, Some(CallPart::Body)).0, error);
    assert_eq!(run(6, 7, None), (Ok(vec![7; 6]), ReplayCounts { eager: 3, evicted: 1, ..recorded(replayed) }));
}

/// Gathers the rank numbers over all ranks.
fn gathered(queues: &[AnyQueue]) -> Vec<bool> {
    let numbers: Vec<u32> = (0..queues.len() as u32).collect();
    let shares: Vec<_> = (0..queues.len()).map(|rank| rank..rank + 1).collect();
    test_process::scope(|scope| {
        let ranks = queues.iter().zip(ranks(queues).unwrap()).map(|(q, rank)| {
            let (numbers, shares) = (&numbers, &shares);
            scope.spawn(move || {
                let mut all = q.upload(&vec![rank.rank() as u32; shares.len()]).unwrap();
                rank.all_gather(q, &mut all, shares).unwrap();
                assert_eq!(q.download(&all).unwrap(), *numbers);
                matches!(rank, AnyRank::Peer(_))
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn queues_on_gpus_copy_from_each_other_and_others_pass_through_the_host() {
    let on = |cuda_device| open(&Settings { cuda_device, ..settings() }, Choice::Sim);
    let host = || open(&settings(), Choice::Cpu);
    assert_eq!(gathered(&[on(0), on(1)]), [true; 2]);
    assert_eq!(gathered(&[on(1), host(), on(0)]), [false; 3]);
    assert_eq!(gathered(&[host(), host()]), [false; 2]);
    assert!(ranks(&[]).unwrap().is_empty());
    let (links, queues) = (cuda_links(&settings()).unwrap(), [on(0), on(1)]);
    let group = ranks(&queues).unwrap();
    assert_eq!(group[1].links(), links);
    assert_eq!(links.len(), 2);

    let processor = host();
    let mixed = |op| Err(CollectiveError::Backend(BackendError::MixedBackend { op }));
    let mut words = processor.upload(&[0u32; 2]).unwrap();
    assert_eq!(group[0].all_gather(&processor, &mut words, &[0..1, 1..2]), mixed("all_gather"));
    assert_eq!(group[0].broadcast(&queues[0], 0, &mut words, 0..1), mixed("broadcast"));
    assert_eq!(group[0].barrier(&processor), mixed("barrier"));
    assert_eq!(group[1].barrier(&queues[1]), Err(CollectiveError::GaveUp { rank: 0 }));
}

#[test]
fn a_rank_that_cannot_read_ends_all() {
    let device = open(&settings(), Choice::Sim);
    let ended: Vec<_> = test_process::scope(|scope| {
        let ranks = Local::group(3).into_iter().map(|rank| {
            let device = &device;
            scope.spawn(move || {
                let q = open(&settings(), Choice::Cpu);
                let src = if rank.rank() == 2 { device } else { &q }.upload(&[1u32; 3]).unwrap();
                let mut dst = q.zeros::<u32>(3).unwrap();
                rank.all_to_all(&q, src.view(), dst.view_mut())
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    let gave_up = Err(CollectiveError::GaveUp { rank: 2 });
    assert_eq!(ended, [gave_up.clone(), gave_up, Err(BackendError::MixedBackend { op: "read" }.into())]);
}

#[test]
fn kernels_of_the_caller_run_on_the_device_that_was_asked_for() {
    let q = cuda_queue(&settings(), Choice::Sim, Vec::new()).unwrap();
    let _words = q.upload(&[1u32; 3]).unwrap();
    // The simulated device is for our own allocator, which takes memory from the driver in large blocks; the driver's pools do not.
    let memory = cuda_memory(&q).unwrap();
    assert!(memory.held_bytes >= 1 << 20 && memory.live_bytes < 1 << 10, "{memory:?}");
    let refused = cuda_queue(&settings(), Choice::Gpu, Vec::new());
    assert!(matches!(refused, Err(OpenError::Unavailable { requested: Choice::Gpu, .. })));
}
