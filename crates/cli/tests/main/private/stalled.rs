//! Clients that stall: a server ends their runs after its limit, and serves the others.

use std::{
    path::Path,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use inference::{
    Limits,
    folder::KeyFolder,
    party::{self, Role},
    tls::TlsChannel,
};
use pfss::{Channel, ChannelError, Party};
use test_process::output;

use crate::{
    LIMIT, lines,
    private::{RunningProcess, expect_failure, infer, listen, pfss, succeeded, transformers::write_files},
};

/// A layer whose masked weights are longer than all buffers of a connection, and layers after it.
const WIDE: &str = r#"{
    "version": 1, "name": "wide", "weight_limit": 1,
    "input": {"shape": [2048], "fraction_bits": 12, "min": 0, "max": 1},
    "layers": [
        {"name": "wide", "kind": {"dense": {"outputs": 2048}}},
        {"name": "relu", "kind": {"activation": "relu"}},
        {"name": "output", "kind": {"dense": {"outputs": 2}}}
    ]
}"#;

/// A channel that falls silent after some exchanges, until the server has ended.
struct Silent<'a> {
    inner: TlsChannel,
    left: u32,
    ended: &'a Receiver<()>,
}

impl Channel for Silent<'_> {
    fn party(&self) -> Party {
        self.inner.party()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        self.inner.send(message)
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.inner.recv(len)
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        if self.left == 0 {
            assert!(self.ended.recv_timeout(LIMIT).is_err_and(|error| error == mpsc::RecvTimeoutError::Disconnected));
            return Err(ChannelError::Lost { doing: "sending" });
        }
        self.left -= 1;
        self.inner.exchange(message)
    }
}

/// How a client stalls.
#[derive(Clone, Copy)]
enum Stall {
    /// After the greeting.
    Greeted,
    /// After this number of exchanges of its run.
    After(u32),
    /// It sends its first message and reads nothing.
    Unread,
}

/// Connects as the client of a folder and stalls until the sender of `ended` is dropped.
fn stall(keys: &Path, address: &str, stall: Stall, ended: &Receiver<()>) {
    let folder = KeyFolder::open(keys, Party::Zero, |_| ()).unwrap();
    let channel = folder.endpoint(Limits { idle: LIMIT, session: LIMIT }).connect(address).unwrap();
    let (model, inputs) = (folder.model().clone(), vec![0; folder.model().input_len()]);
    match stall {
        Stall::Greeted => {
            let mut silent = Silent { inner: channel, left: 0, ended };
            silent.exchange(&[]).unwrap_err();
        }
        Stall::After(left) => {
            let role = Role::Client(&inputs);
            let keys = folder.consume(role).unwrap();
            let silent = Silent { inner: channel, left, ended };
            party::run(&runtime::cpu().unwrap(), &model, keys, silent, role, |_| ()).unwrap_err();
        }
        Stall::Unread => {
            let mut channel = channel;
            let (bytes, _) = model.plan().unwrap().steps()[0].deals[0].traffic();
            // The server stops reading when it cannot write any more.
            channel.send(&vec![0; bytes as usize]).unwrap_err();
        }
    }
}

#[test]
fn clients_that_stall_are_ended_by_name_after_the_limit_and_others_are_served() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    write_files(scratch.path(), WIDE, |tensor, at| match tensor {
        "input" => 0.5,
        _ => (at * 37 % 101) as f32 / 101.0 - 0.5,
    });
    let stalls = [
        ("greeted", Stall::Greeted, "receiving", "wide"),
        ("half-way", Stall::After(2), "receiving", "wide.rescale"),
        ("unread", Stall::Unread, "sending", "wide"),
    ];
    let names = stalls.map(|(name, ..)| name);
    for name in names.into_iter().chain(["fine"]) {
        let mut deal = pfss("deal");
        deal.arg("--model").arg(at("model.json")).args(["--count", "1", "--out"]).arg(at(name));
        succeeded(&output(&mut deal, LIMIT));
    }
    // The handshakes and the steps of the other client are within this limit, too.
    let mut command = pfss("serve");
    command.args(names.map(|name| at(name).join("party1"))).arg(at("fine/party1"));
    command.arg("--weights").arg(at("weights.safetensors"));
    command.args(["--at-once", "4", "--wait", "60", "--idle", "10", "--log"]).arg(at("runs.jsonl"));
    let (serving, address) = listen(command);

    let done = thread::scope(|scope| {
        let ends = stalls.map(|(name, how, ..)| {
            let ((end, ended), keys, address) = (mpsc::channel(), at(name).join("party0"), &address);
            (end, scope.spawn(move || stall(&keys, address, how, &ended)))
        });
        // Served while they stall.
        let mut client = infer(&at("fine/party0"), &address);
        client.arg("--input").arg(at("input.npy")).arg("--compare").arg(at("weights.safetensors"));
        let client = RunningProcess(Some(client.spawn().unwrap()));
        let shown = succeeded(&client.output());
        assert!(shown.contains("0 of 2 logits differ"), "{shown}");
        let done = serving.output();
        for (end, stalled) in ends {
            drop(end);
            stalled.join().unwrap();
        }
        done
    });

    expect_failure(&done, 5, &["3 of 4 runs failed, the first of them: "]);
    assert!(String::from_utf8_lossy(&done.stdout).ends_with("1 run served, 3 failed, no run is left\n"), "{done:?}");
    let (said, logged) = (String::from_utf8_lossy(&done.stderr), lines(&at("runs.jsonl")));
    for (name, _, doing, step) in stalls {
        let folder = at(name).join("party1");
        let certificate = KeyFolder::manifest(&folder).unwrap().peer;
        let expected = format!(
            "party 0 with certificate {certificate}: timed out while {doing} in step `{step}`: nothing moved for 10 s"
        );
        assert!(said.contains(&format!("{}: {expected}\n", folder.display())), "{expected}\n{said}");
        let line = logged.iter().find(|line| line["client"] == certificate.as_str()).unwrap();
        assert_eq!(line["outcome"], expected.as_str());
        let seconds = Duration::from_secs_f64(line["seconds"].as_f64().unwrap());
        assert!(seconds < Duration::from_mins(1), "{name}: {seconds:?}");
        assert!(KeyFolder::is_used(&folder), "{name}");
    }
}
