//! Messages of one end are one incident, and one explanation.

use lowtide_ingest::log::Family::{Cuda, Kernel, Numpy, SharedMemory, Slurm};
use lowtide_model::{Class, Finding, Kind};

use crate::{GIB, log, one};

fn finding(text: &str) -> Finding {
    let mut findings = log(text).findings();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

fn card(request: &str, free: &str, process: &str, allocated: &str, unallocated: &str) -> String {
    format!(
        "CUDA out of memory. Tried to allocate {request}. GPU 0 has a total capacity of 79.19 GiB of which {free} is free. {process} Of the allocated memory \
         {allocated} is allocated by PyTorch, and {unallocated} is reserved by PyTorch but unallocated."
    )
}

const OWN: &str = "Including non-PyTorch memory, this process has 78.92 GiB memory in use.";

#[test]
fn eight_ranks_are_one() {
    let ranks: String = (0..8)
        .map(|rank| {
            format!("[rank{rank}]: Traceback\n[rank{rank}]: {}\n", card("2.00 GiB", "1.00 MiB", OWN, "78.00 GiB", "0.10 GiB"))
        })
        .collect();
    let after = "torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 77) of binary: python\nsrun: error: n1: task 0: Exited with exit code 1\n";
    let incident = one(&(ranks + after));
    assert_eq!(incident.main().family, Cuda);
    assert_eq!(incident.messages.len(), 9);
}

#[test]
fn the_kernel_the_shell_and_the_scheduler_tell_of_one_kill() {
    let incident = one(
        "Memory cgroup out of memory: Killed process 8156 (python3) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:8kB oom_score_adj:0
/var/spool/slurm_script: line 28:  8156 Killed                  python3 main.py
slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
    );
    assert_eq!((incident.main().family, incident.messages.len()), (Kernel, 3));
    let numbers = incident.numbers();
    assert_eq!((numbers["pid"], numbers["job_id"], numbers["script_line"]), (8156.0, 191.0, 28.0));
}

#[test]
fn two_kills_are_two() {
    let kill = |pid: u32| {
        format!("Out of memory: Killed process {pid} (python) total-vm:8kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB\n")
    };
    assert_eq!(log(&(kill(1) + &kill(2))).incidents.len(), 2);
    let apart =
        format!("{}{}{}", card("2.00 GiB", "1.00 MiB", OWN, "78.00 GiB", "0.10 GiB"), "\nline".repeat(5000), "\nKilled\n");
    assert_eq!(log(&apart).incidents.len(), 2);
}

#[test]
fn a_bus_error_and_the_worker_that_had_it() {
    let finding = finding(
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nTraceback\nRuntimeError: DataLoader worker (pid 46794) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.",
    );
    assert_eq!((finding.resource.as_str(), finding.cause.as_deref(), finding.kind), ("shm", Some("LT405"), Some(Kind::Shmem)));
    assert_eq!(one("ERROR: Unexpected bus error encountered in worker.").main().family, SharedMemory);
}

#[test]
fn an_error_of_numpy_is_told_by_numpy() {
    let incident = one(
        "Traceback\nnumpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.28 TiB for an array with shape (1000000, 1000000) and data type float64\nKilled\n",
    );
    assert_eq!(incident.main().family, Numpy);
}

#[test]
fn a_full_card_and_a_kill_on_the_host_are_two_ends() {
    const CARD: &str = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.\n";
    const SLURM: &str = "slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0. Some of the step tasks have been OOM Killed.\nsrun: error: node1: task 0: Out Of Memory\n";
    for text in [format!("{CARD}{SLURM}"), format!("{SLURM}{CARD}")] {
        let log = log(&text);
        let mut families: Vec<Vec<_>> = Vec::new();
        for incident in &log.incidents {
            let mut of_one: Vec<_> = incident.messages.iter().map(|message| message.family).collect();
            of_one.dedup();
            families.push(of_one);
        }
        families.sort();
        assert_eq!(families, [[Cuda], [Slurm]], "{text}");
    }
}

#[test]
fn what_follows_from_another_process_s_end_is_told_for_what_it_is() {
    let symptom = log("step 5\nTraceback (most recent call last):\n    raise EOFError\nEOFError\n");
    assert!(symptom.incidents.is_empty());
    assert!(symptom.said[0].contains("line 4: `EOFError`") && symptom.said[0].contains("dmesg"), "{:?}", symptom.said);
    let with_its_reason =
        log("EOFError\nOut of memory: Killed process 12 (python) total-vm:12kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB\n");
    assert_eq!((with_its_reason.incidents.len(), with_its_reason.said.len()), (1, 0), "{:?}", with_its_reason.said);
}

#[test]
fn reasons_by_figures() {
    let why = |text: &str| {
        let finding = finding(text);
        assert_eq!(finding.class, Class::Oom);
        assert!(!finding.fix.clone().unwrap_or_default().contains("empty_cache"));
        (finding.why.unwrap_or_default(), finding.kind, finding.cause)
    };
    // 78.92 in use, 67.92 allocated, 10.26 reserved but unallocated.
    let (fragmented, kind, cause) = why(&card("2.00 GiB", "267.00 MiB", OWN, "67.92 GiB", "10.26 GiB"));
    assert!(fragmented.starts_with("fragmentation"), "{fragmented}");
    assert_eq!((kind, cause.as_deref()), (Some(Kind::GpuReserved), Some("LT507")));
    let (live, kind, cause) = why(&card("12.00 GiB", "267.00 MiB", OWN, "67.92 GiB", "10.26 GiB"));
    assert!(live.starts_with("live tensors") && live.contains("67.92 GiB"), "{live}");
    assert_eq!((kind, cause), (Some(Kind::GpuAllocated), None));
    let (large, ..) = why(&card("120.00 GiB", "70.00 GiB", OWN, "1.00 GiB", "0.10 GiB"));
    assert!(large.starts_with("one request too large"), "{large}");
    let two = "Process 10 has 40.00 GiB memory in use. Process 11 has 39.00 GiB memory in use.";
    let (other, kind, _) = why(&card("2.00 GiB", "190.00 MiB", two, "38.00 GiB", "0.50 GiB"));
    assert!(other.starts_with("another process") && other.contains("40.00 GiB"), "{other}");
    assert_eq!(kind, Some(Kind::GpuOutside));
    let (capped, ..) = why(
        "HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1074.01 MiB is allocated by PyTorch, and 0.99 MiB is reserved by PyTorch but unallocated.",
    );
    assert!(capped.contains("own limit") && capped.contains("set_per_process_memory_fraction"), "{capped}");
    let pieces = "HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.";
    let (capped, kind, _) = why(pieces);
    for said in [
        "fragmentation: PyTorch had 54.99 MiB",
        "17.00 MiB",
        "More than 1.05 GiB",
        "set_per_process_memory_fraction",
        "244.65 GiB were free",
    ] {
        assert!(capped.contains(said), "{said}: {capped}");
    }
    assert_eq!(kind, Some(Kind::GpuReserved));
    // Up to torch 1.3 `cached` is what is not in use.
    let oldest = "CUDA out of memory. Tried to allocate 26.00 MiB (GPU 0; 1024.00 MiB total capacity; 435.61 MiB already allocated; 24.17 MiB free; 26.39 MiB cached)";
    let (fragmented, ..) = why(oldest);
    assert!(fragmented.starts_with("fragmentation: PyTorch had 26.39 MiB"), "{fragmented}");
    // Without what was asked for the rest is told all the same.
    let (rest, kind, _) =
        why("CUDA out of memory. 78.92 GiB in use, 67.92 GiB allocated by PyTorch, 10.26 GiB reserved but unallocated");
    for said in ["asked for is missing", "67.92 GiB were in use", "10.26 GiB were reserved"] {
        assert!(rest.contains(said), "{said}: {rest}");
    }
    assert_eq!(kind, Some(Kind::GpuAllocated));
    let old = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.68 GiB total capacity; 4.00 GiB already allocated; 1.00 GiB free; 4.20 GiB reserved in total by PyTorch)";
    let (other, kind, _) = why(old);
    assert!(other.starts_with("another process"), "{other}");
    assert_eq!(kind, Some(Kind::GpuOutside));
}

#[test]
fn figures_of_the_limit() {
    let finding = finding(&card("2.00 GiB", "267.00 MiB", OWN, "67.92 GiB", "10.26 GiB"));
    let oom = finding.oom.unwrap();
    assert_eq!((oom.limit.as_str(), oom.limit_bytes), ("gpu0", (79.19 * GIB).round() as u64));
    assert_eq!(oom.numbers["oom_errors"], 1.0);
}
