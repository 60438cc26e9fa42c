//! The program needs no driver library to start: its dynamic section names none.

use cuda_loader as _;

/// Little-endian fields of a 64-bit ELF file.
struct Elf(Vec<u8>);

impl Elf {
    fn number(&self, at: u64, len: u64) -> u64 {
        self.0[at as usize..(at + len) as usize].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn text(&self, at: u64) -> String {
        let bytes = self.0[at as usize..].iter().take_while(|&&byte| byte != 0);
        String::from_utf8(bytes.copied().collect()).unwrap()
    }

    /// Type, file offset, address and file size of every segment.
    fn segments(&self) -> Vec<[u64; 4]> {
        let (table, entry, count) = (self.number(32, 8), self.number(54, 2), self.number(56, 2));
        let segment =
            |at| [self.number(at, 4), self.number(at + 8, 8), self.number(at + 16, 8), self.number(at + 32, 8)];
        (0..count).map(|index| segment(table + index * entry)).collect()
    }

    /// Names of the libraries that the platform's loader maps before the program starts.
    fn needed(&self) -> Vec<String> {
        const LOAD: u64 = 1;
        const DYNAMIC: u64 = 2;
        const TAG_NEEDED: u64 = 1;
        const TAG_STRINGS: u64 = 5;
        let segments = self.segments();
        let [_, offset, _, size] = *segments.iter().find(|segment| segment[0] == DYNAMIC).unwrap();
        let entries: Vec<_> = (0..size / 16)
            .map(|index| offset + index * 16)
            .map(|at| (self.number(at, 8), self.number(at + 8, 8)))
            .collect();
        let strings = entries.iter().find(|(tag, _)| *tag == TAG_STRINGS).unwrap().1;
        let home = |segment: &&[u64; 4]| segment[0] == LOAD && (segment[2]..segment[2] + segment[3]).contains(&strings);
        let [_, home_offset, home_address, _] = *segments.iter().find(home).unwrap();
        let names = entries.iter().filter(|(tag, _)| *tag == TAG_NEEDED);
        names.map(|(_, name)| self.text(home_offset + strings - home_address + name)).collect()
    }
}

#[test]
fn no_driver_library_is_needed() {
    // A use that the linker cannot drop, so that the driver's symbols are in this program.
    let init = cust::init as fn(cust::CudaFlags) -> cust::error::CudaResult<()>;
    assert!(init as usize != 0);
    let needed = Elf(std::fs::read(std::env::current_exe().unwrap()).unwrap()).needed();
    assert!(needed.iter().any(|name| name.starts_with("libc.so")), "{needed:?} should name the C library");
    assert!(!needed.iter().any(|name| name.contains("cuda")), "{needed:?}");
}
