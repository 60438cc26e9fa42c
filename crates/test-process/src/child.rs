//! Child processes with a time limit.

use std::{
    env,
    io::Read,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{LIMIT, test_name};

/// The argument that marks the process of one test.
///
/// libtest takes it for the name of a second test, which does not exist.
const MARK: &str = "in-a-separate-process";

/// Pause between two looks at a child process.
const POLL: Duration = Duration::from_millis(5);

/// Runs `test` in a separate process, which ends within [`LIMIT`].
///
/// Called first thing in a test, with the rest of the test as a closure. The calling process starts
/// its own program again with this test alone; the child process runs the closure. Works with any
/// number of test threads.
///
/// # Panics
/// If the test fails in the child process, with the child's output; if the child does not end in
/// time; or if the call stands in a helper, so that the test's name is unknown.
pub fn alone<F: FnOnce()>(test: F) {
    alone_in(&[], test);
}

/// [`alone`] with these variables in the environment of the process.
///
/// # Panics
/// As [`alone`].
pub fn alone_in<F: FnOnce()>(variables: &[(&str, &str)], test: F) {
    if env::args().any(|argument| argument == MARK) {
        return test();
    }
    let name = test_name::<F>();
    let program = env::current_exe().expect("a test program has a path");
    let mut command = Command::new(program);
    command.args([name.as_str(), MARK, "--exact", "--nocapture", "--test-threads=1"]).envs(variables.iter().copied());
    let output = output(&mut command, LIMIT);
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let shown = format!("{}\n{stdout}\n{stderr}", output.status);
    assert!(output.status.success(), "`{name}` failed in a separate process: {shown}");
    assert!(stdout.contains("test result: ok. 1 passed"), "expected one test named `{name}`, got: {shown}");
}

/// The output of a command, which is killed after `limit`.
///
/// # Panics
/// If the command cannot be started, or does not end within `limit`: with its output so far.
pub fn output(command: &mut Command, limit: Duration) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    output_of(child, limit)
}

/// The output of a child process, as far as it has pipes.
///
/// The process is killed after `limit`.
///
/// # Panics
/// If the child does not end within `limit`: with its output so far.
pub fn output_of(mut child: Child, limit: Duration) -> Output {
    let [stdout, stderr] = [Pipe::read(child.stdout.take()), Pipe::read(child.stderr.take())];
    let status = ended(&mut child, limit);
    // The output of a process that was killed is for the message alone.
    let patience = Duration::from_secs(if status.is_some() { 30 } else { 1 });
    let [stdout, stderr] = [stdout, stderr].map(|pipe| pipe.bytes(patience));
    let Some(status) = status else {
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let id = child.id();
        panic!("process {id} hangs: expected an end within {limit:?}, killed it.\n{stdout}\n{stderr}");
    };
    Output { status, stdout, stderr }
}

/// Waits for a child process, and kills it after `limit`.
///
/// # Panics
/// If the child does not end within `limit`.
pub fn wait(child: &mut Child, limit: Duration) -> ExitStatus {
    ended(child, limit).unwrap_or_else(|| panic!("process {} hangs: expected an end within {limit:?}", child.id()))
}

/// The status of a child process; `None` if it had to be killed.
fn ended(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("a child process can be waited for") {
            return Some(status);
        }
        if Instant::now() >= end {
            child.kill().expect("a child process can be killed");
            child.wait().expect("a child process can be waited for");
            return None;
        }
        thread::sleep(POLL);
    }
}

/// The end of a pipe that a child process writes to.
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Pipe {
    /// Reads on a thread, so that a full pipe never blocks the child process.
    fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut chunk = vec![0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend(&chunk[..count]);
            }
        });
        Self { bytes, reader }
    }

    /// Everything up to the end of the pipe, or up to `patience`.
    ///
    /// The wait ends without the end of the pipe if a process started by the child holds the pipe
    /// open.
    fn bytes(self, patience: Duration) -> Vec<u8> {
        let end = Instant::now() + patience;
        while !self.reader.is_finished() && Instant::now() < end {
            thread::sleep(POLL);
        }
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
