//! Private digit recognition: two processes classify handwritten digits on secret shares.
//!
//! This process is the dealer and the owner of the images. It writes to each party's folder what that party may know,
//! starts both, and afterwards reconstructs every intermediate value from the two shares and compares it with the
//! plaintext fixed-point model. The network's weights are public to both parties; images and everything computed from
//! them are shared.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use inference::{
    FRACTION_BITS,
    digits::{self, labels},
};
use pfss::{Dealer, Gate, KeyBundle};

use super::{
    fixed_point::Network,
    party::{Measured, read_shares, write_shares},
    stage::{Context, Findings},
    train::WEIGHTS_FILE,
};
use crate::report;

/// Runs the workload.
pub(crate) fn run(ctx: &Context) -> Result<Findings> {
    let (_, mut test) = digits::load()?;
    if ctx.small {
        test = test.take(32);
    }
    let mut found = Findings::new("Classify digits privately (pfss)");
    let bar = ctx.bar("classify privately", 4)?;
    let weights = ctx.out.join(WEIGHTS_FILE);
    let network = Network::read(&weights)?;
    let images = test.fixed_point();
    let plain = network.evaluate(&images);
    let elements = test.count() * network.hidden.outputs();

    let bundles = found.time("deal keys for both parties", || {
        let mut dealer = Dealer::from_os()?;
        let truncate = dealer.deal(&ctx.pfss, &Gate::gap_ars(64, FRACTION_BITS)?, elements)?;
        let relu = dealer.deal(&ctx.pfss, &Gate::relu(64)?, elements)?;
        Ok([truncate, relu])
    })?;
    bar.inc(1);
    let folders = [ctx.out.join("party0"), ctx.out.join("party1")];
    let key_bytes = found.time("write what each party may know", || {
        let mask = random_words(images.len())?;
        let other: Vec<u64> = images.iter().zip(&mask).map(|(image, mask)| image.wrapping_sub(*mask)).collect();
        let mut key_bytes = 0;
        for (b, (folder, share)) in folders.iter().zip([mask, other]).enumerate() {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
            fs::copy(&weights, folder.join("network.safetensors")).context("copying the network")?;
            write_shares(&folder.join("images.npy"), &share)?;
            key_bytes = write_bundles(folder, &bundles[0][b], &bundles[1][b])?;
        }
        Ok(key_bytes)
    })?;
    bar.inc(1);
    found.time("two processes over local TCP", || run_parties(ctx, &folders[0], &folders[1]))?;
    bar.inc(1);

    let reconstruct = |name: &str| -> Result<Vec<u64>> {
        let [a, b] = [&folders[0], &folders[1]].map(|folder| read_shares(&folder.join(format!("{name}.npy"))));
        Ok(a?.iter().zip(b?).map(|(a, b)| a.wrapping_add(b)).collect())
    };
    for (name, expected, what) in [
        ("linear", &plain.linear, "the dense layer"),
        ("truncated", &plain.truncated, "truncation"),
        ("activated", &plain.activated, "ReLU"),
        ("logits", &plain.logits, "the output layer"),
    ] {
        found.check(
            &format!("shares of {what} reconstruct the plaintext fixed-point values, all {}", expected.len()),
            reconstruct(name)? == *expected,
        )?;
    }
    let predicted = labels(&reconstruct("logits")?);
    let correct = predicted.iter().zip(&test.labels).filter(|(a, b)| a == b).count();
    bar.finish_and_clear();

    let measured: Measured = serde_json::from_slice(&fs::read(folders[0].join("measured.json"))?)?;
    let other: Measured = serde_json::from_slice(&fs::read(folders[1].join("measured.json"))?)?;
    found.check("each party received what the other sent", measured.received_bytes == other.sent_bytes)?;
    found.fact("images", format!("{} of the test set, {elements} ReLUs and truncations", test.count()));
    found.fact(
        "accuracy",
        format!("{:.2} % ({correct} of {})", 1e2 * correct as f64 / test.count() as f64, test.count()),
    );
    found.fact("rounds", measured.rounds);
    found.fact("keys per party", format!("{} KiB", key_bytes >> 10));
    let seconds: Vec<_> = measured.seconds.iter().map(|(step, seconds)| (step.clone(), seconds * 1e3)).collect();
    found.picture(report::bars("party 0, time per step", "ms", &seconds)?);
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let bytes = [
        ("keys of one party".to_owned(), kib(key_bytes)),
        ("sent by party 0".to_owned(), kib(measured.sent_bytes)),
        ("sent by party 1".to_owned(), kib(other.sent_bytes)),
    ];
    found.picture(report::bars("bytes", "KiB", &bytes)?);
    Ok(found)
}

fn write_bundles(folder: &Path, truncate: &KeyBundle, relu: &KeyBundle) -> Result<u64> {
    let mut total = 0;
    for (name, bundle) in [("truncate.pfk", truncate), ("relu.pfk", relu)] {
        let bytes = bundle.to_bytes();
        total += bytes.len() as u64;
        fs::write(folder.join(name), &bytes[..]).with_context(|| format!("writing {name}"))?;
    }
    Ok(total)
}

/// Starts both parties and waits for them.
fn run_parties(ctx: &Context, folder0: &Path, folder1: &Path) -> Result<()> {
    let mut first = PartyProcess::start(ctx, 0, folder0, None)?;
    let address = first.address()?;
    let second = PartyProcess::start(ctx, 1, folder1, Some(&address))?;
    let results = [second.wait(), first.wait()];
    results.into_iter().collect()
}

/// A running party; killed if this process gives up on it.
struct PartyProcess {
    child: Child,
    number: u8,
}

impl PartyProcess {
    fn start(ctx: &Context, number: u8, folder: &Path, peer: Option<&str>) -> Result<Self> {
        let program = env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command.arg("party").arg("--folder").arg(folder).arg("--number").arg(number.to_string());
        if let Some(address) = peer {
            command.arg("--peer").arg(address);
        }
        if let Some(backend) = ctx.backend {
            command.arg("--backend").arg(backend.name());
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        Ok(Self { child: child.with_context(|| format!("starting party {number}"))?, number })
    }

    /// The address that party 0 prints once it listens.
    fn address(&mut self) -> Result<String> {
        let out = self.child.stdout.as_mut().context("party 0 has no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).context("reading the address of party 0")?;
        match line.trim() {
            "" => bail!("party 0 ended before it listened"),
            address => Ok(address.to_owned()),
        }
    }

    fn wait(mut self) -> Result<()> {
        let status = self.child.wait().with_context(|| format!("waiting for party {}", self.number))?;
        if !status.success() {
            bail!("party {} failed: {status}", self.number);
        }
        Ok(())
    }
}

impl Drop for PartyProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Failing to kill a process that has just ended is no failure.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub(crate) fn random_words(len: usize) -> Result<Vec<u64>> {
    let mut bytes = vec![0; len * 8];
    getrandom::fill(&mut bytes).context("asking the system for randomness")?;
    let word = |chunk: &[u8]| u64::from_le_bytes(core::array::from_fn(|i| chunk[i]));
    Ok(bytes.chunks_exact(8).map(word).collect())
}
