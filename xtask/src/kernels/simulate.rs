//! Samples on the simulated device, with every checker of kernels.

use anyhow::{Context, Result, anyhow};
use cuda_sim::exec::{Grid, Memory, Options, Program, Schedule, launch};

use super::sample::{BLOCK, KernelSample, SampleKernel};

/// Bytes of the device.
const MEMORY: u64 = 16 << 20;

/// Orders in which blocks and warps take turns. The results do not depend on them.
const SCHEDULES: [Schedule; 3] = [Schedule::Natural, Schedule::Reverse, Schedule::Seeded(1)];

/// Runs the kernels of `ptx`. The result has the words of each launch.
///
/// # Errors
/// If the text is refused, a checker reports something, or the words depend on the order of turns.
pub(super) fn words(ptx: &str, sample: &KernelSample) -> Result<Vec<Vec<u32>>> {
    let program = Program::load(ptx).context("the simulated device refuses the text")?;
    let run = |kernel: &SampleKernel| -> Result<Vec<u32>> {
        let symbol = sample.symbol(kernel);
        let runs = SCHEDULES.map(|schedule| run(&program, &symbol, kernel, schedule));
        let [natural, reverse, seeded] = runs;
        let (natural, reverse, seeded) = (natural?, reverse?, seeded?);
        if natural == reverse && natural == seeded {
            Ok(natural)
        } else {
            Err(anyhow!("the words of `{symbol}` depend on the order of blocks and warps"))
        }
    };
    sample.kernels.iter().map(run).collect()
}

/// Runs a kernel on fresh memory, with zeros to write to.
fn run(program: &Program, symbol: &str, kernel: &SampleKernel, schedule: Schedule) -> Result<Vec<u32>> {
    let memory = Memory::new(&[MEMORY]);
    let place = |words: &[u32]| -> Result<u64> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = memory.alloc(0, bytes.len() as u64)?;
        memory.write(address, &bytes)?;
        Ok(address)
    };
    let (from, to) = (place(&kernel.from)?, place(&vec![0; kernel.expected.len()])?);
    let mut parameters: Vec<u8> = [from, to].iter().flat_map(|address| address.to_le_bytes()).collect();
    parameters.extend(kernel.threads.to_le_bytes());
    let grid = Grid { dynamic_shared: kernel.dynamic_shared(), ..Grid::linear(kernel.blocks(), BLOCK) };
    let options = Options { schedule, ..Options::sanitize() };
    launch(program, symbol, grid, &parameters, &memory, 0, &options).map_err(|fault| anyhow!("{fault}"))?;
    let mut bytes = vec![0; 4 * kernel.expected.len()];
    memory.read(to, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

#[cfg(test)]
mod tests {
    use super::{super::sample::ExpectedResults, *};

    /// A sample with a kernel that adds 1 to each word.
    fn sample() -> (KernelSample, String) {
        let expected = ExpectedResults::Words { words: (1..151).collect() };
        let kernel = SampleKernel::alone("thread", 150, (0..150).collect(), expected);
        let sample =
            KernelSample { family: "math", seed: 1, index: 2, functions: String::new(), kernels: vec![kernel] };
        let symbol = sample.symbol(&sample.kernels[0]);
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {symbol}(.param .u64 from, .param .u64 to,\n\
             .param .u32 len) {{\n.reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<6>;\n\
             mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\n\
             mad.lo.s32 %r3, %r0, %r1, %r2;\nld.param.u32 %r4, [len];\nsetp.ge.u32 %p1, %r3, %r4;\n\
             @%p1 bra DONE;\nld.param.u64 %rd0, [from];\nld.param.u64 %rd1, [to];\nmul.wide.u32 %rd2, %r3, 4;\n\
             add.s64 %rd3, %rd0, %rd2;\nadd.s64 %rd4, %rd1, %rd2;\nld.global.u32 %r5, [%rd3];\n\
             add.u32 %r5, %r5, 1;\nst.global.u32 [%rd4], %r5;\nDONE:\nret;\n}}\n"
        );
        (sample, text)
    }

    #[test]
    fn words_of_a_kernel_are_read_back() {
        let (sample, text) = sample();
        let words = words(&text, &sample).unwrap();
        assert_eq!(sample.kernels[0].expected.mismatch(&words[0]), None);
        let wrong = super::words(&text.replace("%r5, 1;", "%r5, 2;"), &sample).unwrap();
        assert!(sample.kernels[0].expected.mismatch(&wrong[0]).is_some());
    }

    #[test]
    fn faults_and_dependence_on_order_are_errors() {
        let (sample, text) = sample();
        let beyond = text.replace("setp.ge.u32 %p1, %r3, %r4", "setp.ge.u32 %p1, %r3, 1000");
        assert!(words(&beyond, &sample).is_err());
        let racing = text.replace("st.global.u32 [%rd4]", "st.global.u32 [%rd1]");
        assert!(words(&racing, &sample).is_err());
        assert!(words("no PTX", &sample).is_err());
    }
}
