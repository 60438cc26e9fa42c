//! Every call the backend makes, with every code the driver may answer.

use crate::device::support::{SimMachine, expected, program};
use backend_api::BackendError;
use cuda_backend::{Allocator, ModuleError, OpenError};
use cuda_loader::Status;

/// Codes of every kind: refusals, exhaustion, lost devices, capture, and some that no release
/// defines.
const CODES: &[i32] = &[
    1, 2, 3, 4, 34, 36, 46, 47, 100, 101, 200, 201, 209, 214, 216, 218, 220, 221, 222, 223, 226, 301, 304, 400, 401,
    402, 500, 600, 700, 701, 702, 704, 708, 709, 710, 714, 715, 716, 717, 718, 719, 720, 721, 800, 801, 802, 900, 901,
    902, 904, 905, 906, 907, 908, 909, 910, 911, 912, 919, 999, 1000, 54_321, -1,
];

/// Codes after which nothing on the device can be trusted, by the driver API's own words.
const STICKY: &[i32] = &[214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721];

/// Calls that do not answer for work that has failed.
const MUTE: &[&str] = &["cuThreadExchangeStreamCaptureMode", "cuGraphGetNodes", "cuMemPoolGetAttribute"];

#[test]
fn every_fault_is_typed_and_nothing_leaks_or_calls_a_lost_device() {
    let mut cases = 0;
    for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
        for (call, count) in calls_of_the_program(allocator) {
            // The first call, the last and one between: they fail with different resources held.
            let mut turns = vec![1, count.div_ceil(2), count];
            turns.dedup();
            for code in CODES {
                for turn in &turns {
                    inject(allocator, call, *code, *turn);
                    cases += 1;
                }
            }
        }
    }
    assert!(cases >= 3000, "{cases}");
}

/// Each function that the program calls, and how often.
fn calls_of_the_program(allocator: Allocator) -> Vec<(&'static str, u64)> {
    let machine = SimMachine::clean("");
    assert_eq!(program(allocator).unwrap(), expected());
    let passive = ["cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString"];
    machine.counters().calls.into_iter().filter(|(call, _)| !passive.contains(call)).collect()
}

fn inject(allocator: Allocator, call: &'static str, code: i32, turn: u64) {
    let machine = SimMachine::new(&format!("fail={code}@{call}:{turn}"));
    let context = format!("{code} from call {turn} of {call}, {allocator:?}");
    let sticky = STICKY.contains(&code);
    match program(allocator) {
        Ok(words) => assert_eq!(words, expected(), "{context}"),
        Err(error) => assert!(is_of_class(&error, code), "{context}: {error}"),
    }
    assert_eq!(machine.counters().calls_after_sticky, Vec::<&str>::new(), "{context}");
    // What only a release can free is gone with the context; an object whose release was refused is the driver's.
    let releases = ["Destroy", "Free", "Unload", "Unregister", "Release"].iter().any(|word| call.contains(word));
    if !sticky && !releases {
        assert_eq!(machine.reports(), [], "{context}");
    }
}

/// Whether `error` is what `code` must become, whichever call it came from.
fn is_of_class(error: &OpenError, code: i32) -> bool {
    let backend = match error {
        OpenError::NoDevice => return code == Status::NO_DEVICE.0,
        OpenError::Module(ModuleError::Load { reason, .. }) | OpenError::Backend(reason) => reason,
        _ => return false,
    };
    match backend {
        BackendError::OutOfMemory { .. } => code == Status::OUT_OF_MEMORY.0,
        // Before there is a context there is none to lose.
        BackendError::Driver { code: reported, .. } => *reported == code,
        BackendError::DeviceLost { cause, .. } => STICKY.contains(&code) && cause.contains(&code.to_string()),
        BackendError::Kernel { reason, .. } => reason.contains(&format!("({code})")) || code == Status(500).0,
        _ => false,
    }
}

#[test]
fn a_fault_of_work_that_runs_later_names_what_was_under_way() {
    for schedule in ["schedule=eager", "schedule=lazy", "schedule=random"] {
        for code in STICKY {
            let machine = SimMachine::new(&format!("{schedule};late={code}@cuLaunchKernel:2"));
            let error = program(Allocator::StreamOrdered).unwrap_err();
            let OpenError::Backend(BackendError::DeviceLost { in_flight, .. }) = &error else { panic!("{error}") };
            assert!(in_flight.iter().any(|kernel| kernel == "test_scale"), "{schedule}, {code}: {error}");
            // The one call that learned of it, after some that could not.
            let late = machine.counters().calls_after_sticky;
            let learned = late.iter().filter(|call| !MUTE.contains(call)).count();
            assert!(learned <= 1, "{schedule}, {code}: {late:?}");
        }
    }
}
