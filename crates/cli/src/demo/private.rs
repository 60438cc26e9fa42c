//! Private digit recognition: two processes classify handwritten digits on secret shares.
//!
//! This process is the dealer. It starts a server with the weights that the previous workload
//! trained and a client with the images, like `trefoil pfss serve` and `trefoil pfss infer`, and
//! compares their reports.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use inference::{Architecture, Model, digits, folder};

use super::{
    stage::{DemoContext, Findings},
    train::WEIGHTS_FILE,
};
use crate::{private::PartyReport, report};

/// Images of the small demo.
const FEW: usize = 32;

/// Runs the workload.
pub(crate) fn run(ctx: &DemoContext) -> Result<Findings> {
    let count = if ctx.small { FEW } else { digits::load()?.1.count() };
    let model = Model::new(Architecture::Digits, count)?;
    let mut found = Findings::new("Classify digits privately (pfss)");
    let bar = ctx.bar("classify privately", 2)?;
    let scratch = tempfile::tempdir().context("making a temporary folder")?;
    let keys = scratch.path().join("deal");
    found.time("deal keys for both parties", || Ok(folder::deal(&ctx.pfss, &model, &keys, |_| ())?))?;
    bar.inc(1);
    let weights = ctx.out.join(WEIGHTS_FILE);
    let [client, server] = found.time("two processes over local TLS", || run_parties(ctx, &keys, &weights))?;
    bar.inc(1);
    bar.finish_and_clear();

    let difference = client.difference.as_ref().context("the client was not given the weights")?;
    found.check(
        &format!("the shares' logits are those of the plaintext fixed-point model, all {}", difference.logits),
        difference.different == 0,
    )?;
    found.check(
        "each party received what the other sent, and sent what was predicted",
        client.received_bytes == server.sent_bytes
            && server.received_bytes == client.sent_bytes
            && [&client, &server].iter().all(|party| party.sent_bytes == party.predicted_bytes),
    )?;
    let correct = client.correct.context("the client has no labels")?;
    found.fact("images", format!("{count} of the test set"));
    found.fact("accuracy", format!("{:.2} % ({correct} of {count})", 1e2 * correct as f64 / count as f64));
    found.fact("rounds", client.rounds);
    found.fact("keys per party", format!("{} KiB", client.key_bytes >> 10));
    let seconds: Vec<_> = client.steps.iter().map(|step| (step.step.clone(), step.seconds * 1e3)).collect();
    found.picture(report::bars("client, time per step", "ms", &seconds));
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let bytes = [
        ("keys of one party".to_owned(), kib(client.key_bytes)),
        ("sent by the client".to_owned(), kib(client.sent_bytes)),
        ("sent by the server".to_owned(), kib(server.sent_bytes)),
    ];
    found.picture(report::bars("bytes", "KiB", &bytes));
    Ok(found)
}

/// Starts both parties, waits for them, and reads their reports: client, server.
fn run_parties(ctx: &DemoContext, keys: &Path, weights: &Path) -> Result<[PartyReport; 2]> {
    let reports = ["client.json", "server.json"].map(|name| keys.join(name));
    let mut server = Process::start(ctx, "serve", |command| {
        command.arg("--keys").arg(keys.join("party1")).arg("--weights").arg(weights).args(["--wait", "60"]);
        command.arg("--json").arg(&reports[1]);
    })?;
    let address = server.address()?;
    let client = Process::start(ctx, "infer", |command| {
        command.arg("--keys").arg(keys.join("party0")).args(["--connect", &address]);
        command.arg("--compare").arg(weights).arg("--json").arg(&reports[0]);
    })?;
    client.wait()?;
    server.wait()?;
    let read = |path: &Path| -> Result<PartyReport> {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&bytes).with_context(|| format!("parsing {}", path.display()))
    };
    Ok([read(&reports[0])?, read(&reports[1])?])
}

/// A running party; killed if this process gives up on it.
struct Process {
    child: Child,
    name: &'static str,
}

impl Process {
    fn start(ctx: &DemoContext, name: &'static str, arguments: impl FnOnce(&mut Command)) -> Result<Self> {
        let program = env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command.args(["pfss", name]);
        arguments(&mut command);
        if let Some(backend) = ctx.backend {
            command.arg("--backend").arg(backend.name());
        }
        if let Some(profile) = &ctx.profile {
            command.arg("--profile").arg(profile.with_extension(format!("{name}.json")));
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        Ok(Self { child: child.with_context(|| format!("starting `{name}`"))?, name })
    }

    /// The address that the server prints once it listens.
    fn address(&mut self) -> Result<String> {
        let out = self.child.stdout.as_mut().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).context("reading the address of the server")?;
        match line.trim().strip_prefix("listening on ") {
            Some(address) => Ok(address.to_owned()),
            None => bail!("the server ended before it listened"),
        }
    }

    fn wait(mut self) -> Result<()> {
        let status = self.child.wait().with_context(|| format!("waiting for `{}`", self.name))?;
        if !status.success() {
            bail!("`{}` failed: {status}", self.name);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Failing to kill a process that has just ended is no failure.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
