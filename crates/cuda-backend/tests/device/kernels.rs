//! Launches that do not fit, modules that are not ours, and devices that are lost.

use std::time::Duration;

use crate::device::support::{PTX, SimMachine, config, expected, manifest, manifest_for, open, program, scale, stray};
use backend_api::{BackendError, Buffer, Fork, Queue};
use cuda_backend::{Allocator, CudaConfig, CudaQueue, KernelSource, ModuleOutcome, ModuleText};

#[test]
fn arguments_grids_and_shared_memory_that_do_not_fit_are_refused() {
    let machine = SimMachine::new("");
    let queue = open(Allocator::Auto).unwrap();
    let [mut words, read, mut wide, mut few, mut many] = [(); 5].map(|()| queue.zeros::<u32>(64).unwrap());
    let floats = queue.zeros::<f32>(64).unwrap();
    let shared = || queue.kernel("test_shared").unwrap();
    let launches = [
        ("expected 0 arguments, got an additional `count`", queue.kernel("test_stray").unwrap().value("count", &1u32)),
        ("expected 2 arguments, got 1", shared().output("words", &words.view_mut()).dynamic_shared(256)),
        ("expected an argument `words`, got `count`", shared().value("count", &1u32)),
        ("expected a view that is written, got a view that is read", shared().input("words", read.view())),
        ("expected a view that is written, got a value", shared().value("words", &1u64)),
        ("expected elements of `u32`, got `f32`", queue.kernel("test_add").unwrap().input("a", floats.view())),
        ("expected 4 bytes, got 8", shared().output("words", &wide.view_mut()).value("count", &1u64)),
        ("blocks along y", queue.kernel("test_stray").unwrap().grid([1, 1 << 20, 1])),
        ("at most 65535 blocks along z, got 65536", queue.kernel("test_stray").unwrap().grid([0, 1, 65_536])),
        ("blocks along x", queue.kernel("test_stray").unwrap().grid([u64::MAX, 1, 1])),
        ("expected no size of dynamic shared memory", queue.kernel("test_stray").unwrap().dynamic_shared(16)),
        ("expected a size of dynamic shared memory", shared().output("words", &few.view_mut()).value("count", &64u32)),
        (
            "bytes of dynamic shared memory, got 65537",
            shared().output("words", &many.view_mut()).value("count", &64u32).dynamic_shared(65_537),
        ),
    ];
    let before = machine.counters().launches;
    for (reason, launch) in launches {
        // SAFETY: the launch is refused before it runs.
        let error = unsafe { launch.launch() }.unwrap_err();
        assert!(matches!(error, BackendError::Kernel { .. }) && error.to_string().contains(reason), "{error}");
    }
    let nothing = queue.kernel("test_stray").unwrap().grid([0, 65_535, 65_535]);
    // SAFETY: no block runs.
    unsafe { nothing.launch() }.unwrap();
    assert_eq!(machine.counters().launches, before);
    for name in ["test_missing", "other_kernel", "nameless"] {
        let error = queue.kernel(name).unwrap_err();
        assert_eq!(
            error,
            BackendError::Kernel {
                kernel: name.to_owned(),
                reason: "no loaded module has a kernel of this name".to_owned()
            }
        );
    }
    scale(&queue, &mut words.view_mut(), 2).unwrap();
    queue.finish().unwrap();
}

/// Reverses 50 words through `shared_bytes` bytes of dynamic shared memory, at least 200.
fn reverse(queue: &CudaQueue, shared_bytes: u32) {
    let mut words = queue.upload(&(0..50u32).collect::<Vec<_>>()).unwrap();
    let launch = queue.kernel("test_shared").unwrap().output("words", &words.view_mut());
    let launch = launch.value("count", &50u32).dynamic_shared(shared_bytes);
    // SAFETY: the kernel touches 50 words of the view and of shared memory.
    unsafe { launch.launch() }.unwrap();
    assert_eq!(queue.download(&words).unwrap(), (0..50u32).rev().collect::<Vec<_>>());
}

#[test]
fn dynamic_shared_memory_is_what_the_launch_asks_for() {
    let _machine = SimMachine::clean("checks=sanitize");
    let queue = open(Allocator::Auto).unwrap();
    reverse(&queue, 200);
}

#[test]
fn shared_memory_is_asked_for_when_both_kinds_together_need_it() {
    let _machine = SimMachine::clean("");
    let fixed = PTX.replace(
        "\tld.param.b64 %rd1, [test_shared_param_0];",
        "\t.shared .align 4 .b8 fixed[16384];\n\tld.param.b64 %rd1, [test_shared_param_0];",
    );
    // Either kind alone is below 48 KiB.
    let manifest = manifest_for(&fixed).replace("65536", "40000");
    let queue = CudaQueue::open(with(&fixed, &manifest)).unwrap();
    reverse(&queue, 40_000);
}

#[test]
fn a_module_is_unloaded_when_its_kernels_are_done() {
    let machine = SimMachine::clean("schedule=lazy");
    let queue = open(Allocator::Caching).unwrap();
    let mut words = queue.upload(&[1u32; 64]).unwrap();
    scale(&queue, &mut words.view_mut(), 2).unwrap();
    let before = machine.counters();
    drop((words, queue));
    let after = machine.counters();
    assert_eq!(after.calls_of("cuModuleUnload"), 1);
    assert_eq!(after.calls_of("cuCtxSynchronize") - before.calls_of("cuCtxSynchronize"), 1);
}

#[test]
fn a_lost_device_names_the_launches_in_flight_and_stays_lost() {
    for schedule in ["schedule=eager", "schedule=lazy"] {
        let machine = SimMachine::new(schedule);
        let queue = open(Allocator::StreamOrdered).unwrap();
        let mut words = queue.upload(&[1u32; 64]).unwrap();
        scale(&queue, &mut words.view_mut(), 2).unwrap();
        assert_eq!(queue.download(&words).unwrap(), [2; 64]);
        let lost = stray(&queue).and_then(|()| queue.finish()).unwrap_err();
        let BackendError::DeviceLost { cause, in_flight } = &lost else { panic!("{lost}") };
        assert!(cause.contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), "{cause}");
        assert_eq!(in_flight.last().map(String::as_str), Some("test_stray"), "{schedule}");
        assert!(!in_flight.iter().any(|kernel| kernel == "test_scale"), "it was waited for");
        assert_eq!(queue.finish().unwrap_err(), lost);
        assert_eq!(queue.zeros::<u32>(1).unwrap_err(), lost);
        assert_eq!(queue.download(&words).unwrap_err(), lost);
        assert_eq!(scale(&queue, &mut words.view_mut(), 2).unwrap_err(), lost);
        drop((words, queue));
        // At most the one call that learned of it.
        assert!(machine.counters().calls_after_sticky.len() <= 1);
        // Its context is gone with all holders, so the device can be opened anew.
        assert_eq!(program(Allocator::StreamOrdered).unwrap(), expected());
    }
}

#[test]
fn a_lost_device_names_its_last_64_launches() {
    for schedule in ["schedule=eager", "schedule=lazy"] {
        let _machine = SimMachine::new(schedule);
        let queue = open(Allocator::StreamOrdered).unwrap();
        let mut words = queue.upload(&[1u32; 64]).unwrap();
        (0..70).for_each(|_| scale(&queue, &mut words.view_mut(), 1).unwrap());
        let lost = stray(&queue).and_then(|()| queue.finish()).unwrap_err();
        let BackendError::DeviceLost { in_flight, .. } = &lost else { panic!("{lost}") };
        assert_eq!(*in_flight, [vec!["test_scale"; 63], vec!["test_stray"]].concat(), "{schedule}");
    }
}

#[test]
fn a_wait_that_runs_out_of_time_names_the_kernels_in_flight() {
    let limited = |queue: Option<f64>| CudaConfig {
        timeout: queue.map(Duration::from_secs_f64),
        ..config(Allocator::StreamOrdered)
    };
    // An eager stream's work is done by the first poll. A lazy stream's has to be done in time, on
    // a busy machine too.
    for (schedule, seconds) in [("schedule=eager", 0.05), ("schedule=lazy", 10.0)] {
        let machine = SimMachine::new(&format!("{schedule};hang@cuLaunchKernel:3"));
        let queue = CudaQueue::open(limited(Some(seconds))).unwrap();
        let mut words = queue.upload(&[1u32; 64]).unwrap();
        scale(&queue, &mut words.view_mut(), 2).unwrap();
        scale(&queue, &mut words.view_mut(), 2).unwrap();
        assert_eq!(queue.download(&words).unwrap(), [4; 64]);
        stray(&queue).unwrap();
        let lost = queue.finish().unwrap_err();
        let BackendError::DeviceLost { cause, in_flight } = &lost else { panic!("{lost}") };
        assert_eq!(*cause, format!("cuEventSynchronize timed out after {seconds} s: submitted work did not complete"));
        assert_eq!(in_flight, &["test_stray"], "{schedule}");
        assert_eq!(queue.download(&words).unwrap_err(), lost);
        assert!(cuda_backend::abandoned());
        let before = machine.counters();
        drop((words, queue));
        // Any call might wait for the kernel, so none is made.
        assert_eq!(machine.counters().calls, before.calls);
    }
    // The last use of a buffer may be by a fork that is gone, and a drop while a kernel hangs does not wait for ever.
    let machine = SimMachine::new("hang@cuLaunchKernel:1");
    let queue = CudaQueue::open(limited(Some(0.05))).unwrap();
    let mut words = queue.upload(&[1u32; 64]).unwrap();
    let fork = queue.fork().unwrap();
    fork.write(&[2; 64], words.view_mut()).unwrap();
    drop(fork);
    queue.write(&[3; 64], words.view_mut()).unwrap();
    assert_eq!(queue.download(&words).unwrap(), [3; 64]);
    stray(&queue).unwrap();
    drop((words, queue));
    drop(machine);
    // Without a limit the error is the driver's own.
    let _machine = SimMachine::new("hang@cuLaunchKernel:1");
    let queue = CudaQueue::open(limited(None)).unwrap();
    stray(&queue).unwrap();
    let error = queue.finish().unwrap_err().to_string();
    assert!(error.contains("CUDA_ERROR_LAUNCH_TIMEOUT (702)"), "{error}");
}

fn with(ptx: &str, manifest: &str) -> CudaConfig {
    let text = ModuleText { name: "test".into(), ptx: ptx.to_owned().into(), manifest: manifest.to_owned().into() };
    CudaConfig { kernels: KernelSource::Texts(vec![text]), ..config(Allocator::Auto) }
}

#[test]
fn modules_that_are_not_ours_are_refused_with_the_reason() {
    let machine = SimMachine::new("");
    let refused = |ptx: &str, manifest: &str| {
        let compiled = CudaQueue::open(with(ptx, manifest)).map(|queue| queue.compile("").unwrap().remove(0).outcome);
        match compiled {
            Err(error) => error.to_string(),
            Ok(outcome) => outcome.unwrap_err().to_string(),
        }
    };
    assert!(refused(&PTX.replace("mul.lo", "add"), &manifest()).contains("SHA-256"));
    assert!(refused(PTX, &manifest()[..200]).contains("cannot be read"));
    assert!(refused(PTX, "").contains("cannot be read"));
    assert!(refused(PTX, &manifest().replace("\"test\"", "\"fss\"")).contains("got the manifest of `fss`"));
    assert!(refused(PTX, &manifest().replace("sm_80", "sm_90")).contains("needs compute capability 9.0"));
    let broken = PTX.replace("ld.param.b64 %rd1,", "ld.param.b64 ]%rd1,");
    assert!(refused(&broken, &manifest_for(&broken)).contains("was not loaded"));
    let half = &PTX[..PTX.len() / 2];
    assert!(refused(half, &manifest_for(half)).contains("was not loaded"));
    let renamed = PTX.replace("test_stray", "test_strax");
    assert!(refused(&renamed, &manifest_for(&renamed)).contains("lacks kernel `test_stray`"));
    let wide = manifest().replace("[1, 1, 1], \"min", "[1024, 1, 1], \"min");
    assert!(refused(PTX, &wide).contains("does not fit the device"));
    drop(machine);
}

#[test]
fn a_module_that_cannot_be_compiled_leaves_the_others() {
    let machine = SimMachine::new("");
    let text = |name: &'static str, ptx: String| {
        let manifest = manifest_for(&ptx).replace("\"test", &format!("\"{name}"));
        ModuleText { name: name.into(), ptx: ptx.into(), manifest: manifest.into() }
    };
    let broken = PTX.replace("test_", "broken_").replace("ld.param.b64 %rd1,", "ld.param.b64 ]%rd1,");
    let modules = [text("broken", broken), text("test", PTX.to_owned())];
    let open = |modules: &[ModuleText]| {
        CudaQueue::open(CudaConfig { kernels: KernelSource::Texts(modules.to_vec()), ..config(Allocator::Auto) })
    };
    let queue = open(&modules).unwrap();
    assert_eq!(machine.counters().calls_of("cuModuleLoadDataEx"), 0);
    let refused = queue.kernel("broken_scale").unwrap_err();
    assert!(
        matches!(&refused, BackendError::Kernel { kernel, reason } if kernel == "broken_scale" && reason.contains("line"))
    );
    assert_eq!(queue.kernel("broken_add").unwrap_err().to_string(), refused.to_string().replace("_scale", "_add"));
    let mut words = queue.upload(&[1u32; 64]).unwrap();
    scale(&queue, &mut words.view_mut(), 2).unwrap();
    assert_eq!(queue.download(&words).unwrap(), [2; 64]);
    let outcomes = queue.compile("").unwrap();
    let names: Vec<_> = outcomes.iter().map(|compiled| (&*compiled.module, compiled.outcome.is_ok())).collect();
    assert_eq!(names, [("broken", false), ("test", true)]);
    assert_eq!(queue.compile("t").unwrap(), outcomes[1..]);
    // Each was compiled once: a failure comes with the compiler's log, and stays.
    assert_eq!(machine.counters().calls_of("cuModuleLoadDataEx"), 2);

    let again = manifest().replace("\"test\"", "\"other\"");
    let again = ModuleText { name: "other".into(), manifest: again.into(), ..modules[1].clone() };
    let error = open(&[modules[1].clone(), again]).unwrap_err().to_string();
    assert!(error.contains("another module has a kernel of this name"), "{error}");
}

#[test]
fn the_kernels_that_ship_compile_on_threads_and_fit_as_they_are_meant_to() {
    let machine = SimMachine::new("");
    let queue = CudaQueue::open(CudaConfig { kernels: KernelSource::Embedded, ..config(Allocator::Auto) }).unwrap();
    let outcomes = queue.compile("").unwrap();
    assert_eq!(machine.counters().calls_of("cuModuleLoadDataEx"), outcomes.len() as u64);
    let mut sharing = 0;
    for ModuleOutcome { module, outcome } in outcomes {
        let facts = outcome.unwrap();
        assert!(!facts.kernels.is_empty() && facts.log.contains("compiled"), "{module}: {}", facts.log);
        for kernel in facts.kernels {
            assert_eq!(kernel.local_bytes, 0, "{}", kernel.name);
            assert!(kernel.blocks.is_some_and(|blocks| blocks > 0), "{}", kernel.name);
            // The blocks' shared memory must fit into the requested carveout.
            let needed = u64::from(kernel.shared_bytes) * u64::from(kernel.min_blocks.max(1));
            let device = u64::from(queue.device().info().multiprocessor_shared_bytes);
            match u64::try_from(kernel.carveout) {
                Ok(100) => {}
                Ok(percent) => assert!(kernel.shared_bytes > 0 && percent * device >= needed * 100, "{}", kernel.name),
                Err(_) => assert_eq!((kernel.carveout, kernel.shared_bytes), (-1, 0), "{}", kernel.name),
            }
            sharing += usize::from(kernel.shared_bytes > 0);
        }
    }
    assert!(sharing > 40);
}

#[test]
fn a_folder_takes_the_place_of_the_built_in_kernels() {
    let _machine = SimMachine::new("");
    let missing = CudaConfig { kernels: KernelSource::Folder("/nonexistent".into()), ..config(Allocator::Auto) };
    let error = CudaQueue::open(missing).unwrap_err().to_string();
    assert!(error.contains("`/nonexistent/air.ptx` cannot be read"), "{error}");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels-ptx/ptx");
    let found = CudaConfig { kernels: KernelSource::Folder(shipped.into()), ..config(Allocator::Auto) };
    assert!(CudaQueue::open(found).is_ok());
}
