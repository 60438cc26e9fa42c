//! Processes and limits, tested by tests that fail on purpose in a child process.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
    sync::{
        atomic::{AtomicU32, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::{LIMIT, alone, output, pair, scope, wait, within};

/// The message of the panic of `run`.
fn panic_of(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    *payload.downcast::<String>().unwrap()
}

#[test]
fn runs_in_a_separate_process() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    for _ in 0..2 {
        alone(|| assert!(RUNS.fetch_add(1, SeqCst) < 2));
    }
    // The child process counts both, and this one none.
    assert!([0, 2].contains(&RUNS.load(SeqCst)));
}

#[test]
fn shows_the_output_of_a_test_that_fails() {
    let message = panic_of(|| {
        alone(|| {
            println!("the text on standard output");
            eprintln!("the reason");
            std::process::exit(3);
        });
    });
    assert!(message.contains("shows_the_output_of_a_test_that_fails` failed in a separate process"), "{message}");
    assert!(message.contains("exit status: 3"), "{message}");
    assert!(message.contains("the text on standard output") && message.contains("the reason"), "{message}");
}

#[test]
fn a_helper_cannot_name_the_test() {
    fn helper() {
        alone(|| ());
    }
    let message = panic_of(helper);
    assert!(message.contains("expected one test named `tests::a_helper_cannot_name_the_test::helper`"), "{message}");
}

#[test]
fn two_parties_run_at_once_and_their_panics_are_the_tests() {
    let (to_second, from_first) = mpsc::channel();
    let (to_first, from_second) = mpsc::channel();
    let first = move || {
        to_second.send(1).unwrap();
        from_second.recv().unwrap()
    };
    let second = move || {
        to_first.send(2).unwrap();
        from_first.recv().unwrap()
    };
    assert_eq!(pair(first, second), (2, 1));
    for failing in [1, 2] {
        let party = |number| move || assert!(number != failing, "party {number} fails");
        let both = || _ = pair(party(1), party(2));
        assert_eq!(panic_of(both), format!("party {failing} fails"));
    }
}

#[test]
fn a_test_that_hangs_ends_its_process_with_its_name() {
    let message = panic_of(|| {
        alone(|| {
            within(Duration::from_millis(100), || {
                loop {
                    thread::park();
                }
            })
        });
    });
    assert!(message.contains("a_test_that_hangs_ends_its_process_with_its_name` hangs"), "{message}");
}

#[test]
fn threads_of_a_scope_borrow_and_return_values() {
    let words = [1, 2, 3];
    assert_eq!(scope(|scope| scope.spawn(|| words.len()).join().unwrap()), 3);
}

#[test]
fn values_and_panics_pass_through_a_limit() {
    assert_eq!(within(LIMIT, || 5), 5);
    let message = panic_of(|| within(LIMIT, || panic!("{}", "as planned")));
    assert_eq!(message, "as planned");
}

#[test]
fn a_command_that_hangs_is_killed() {
    // The shell leaves a process behind that holds the pipes.
    let line = "sleep 20 & wait";
    let message = panic_of(|| drop(output(Command::new("sh").args(["-c", line]), Duration::from_millis(300))));
    assert!(message.contains("hangs: expected an end within 300ms"), "{message}");
    let message = panic_of(|| drop(output(Command::new("sleep").arg("600"), Duration::from_millis(100))));
    assert!(message.contains("hangs: expected an end within 100ms"), "{message}");
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let message = panic_of(|| assert!(wait(&mut child, Duration::from_millis(100)).success()));
    assert!(message.contains("hangs: expected an end within 100ms"), "{message}");
}

#[test]
fn output_is_read_while_the_command_runs() {
    // More than a pipe holds.
    let output = output(Command::new("sh").args(["-c", "yes | head -c 1000000; echo ended >&2; exit 3"]), LIMIT);
    assert_eq!((output.stdout.len(), &output.stderr[..], output.status.code()), (1_000_000, &b"ended\n"[..], Some(3)));
}
