// The simulator's WebAssembly module: crates/page, with strings and typed arrays at its edge.
/** What the module refuses, in a sentence: a scenario, a trace, a link. */
export class InputError extends Error {
}
/** A panic, or memory that is not there: the instance is gone, a new one goes on. */
export class ModuleError extends Error {
}
const ARRAYS = {
    u8: Uint8Array,
    u16: Uint16Array,
    u32: Uint32Array,
    u64: BigUint64Array,
    f64: Float64Array,
};
const ALIGNMENT = 8;
const WORD = 4;
/** An instance of the simulator. After a ModuleError it is of no use any more. */
export class Simulator {
    exports;
    constructor(module) {
        this.exports = new WebAssembly.Instance(module).exports;
        this.exports.initialize();
    }
    /** Version and behaviour epoch, as JSON. */
    version() {
        return decode(this.call([], () => this.exports.version()));
    }
    /** Keeps a trace's file under the name that scenarios use. */
    addTrace(name, content) {
        this.call([encode(name), content], (...pairs) => this.exports.add_trace(...pairs));
    }
    /** Runs a scenario, JSON in its canonical form. Throws InputError or ModuleError. */
    run(scenario) {
        return readTables(this.call([encode(scenario)], (...pair) => this.exports.run(...pair)));
    }
    /** Calls with the inputs in the module's memory, as address and length each; a copy of the answer. */
    call(inputs, work) {
        try {
            const pairs = [];
            for (const input of inputs) {
                const address = this.exports.allocate(input.length);
                if (address === 0)
                    throw new ModuleError("not enough memory");
                new Uint8Array(this.exports.memory.buffer).set(input, address);
                pairs.push(address, input.length);
            }
            const { isOk, bytes } = this.answer(work(...pairs));
            for (let i = 0; i < pairs.length; i += 2)
                this.exports.release(pairs[i], pairs[i + 1]);
            if (!isOk)
                throw new InputError(decode(bytes));
            return bytes;
        }
        catch (error) {
            if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
                const said = decode(this.answer(this.exports.panic_message()).bytes);
                throw new ModuleError(said || "not enough memory, or a stack too deep");
            }
            throw error;
        }
    }
    answer(address) {
        const buffer = this.exports.memory.buffer;
        const [isOk, start, length] = new Uint32Array(buffer, address, 3);
        return { isOk: isOk === 1, bytes: new Uint8Array(buffer.slice(start, start + length)) };
    }
}
/** A run's tables; crates/page/src/tables.rs describes the bytes. */
function readTables(bytes) {
    const headerLength = new DataView(bytes.buffer).getUint32(0, true);
    const header = JSON.parse(decode(bytes.subarray(WORD, WORD + headerLength)));
    const columns = Math.ceil((WORD + headerLength) / ALIGNMENT) * ALIGNMENT;
    const placed = ({ type, offset, length }) => new ARRAYS[type](bytes.buffer, columns + offset, length);
    const tables = new Map();
    for (const [name, table] of Object.entries(header)) {
        if (!Array.isArray(table))
            continue;
        tables.set(name, new Map(table.map(([column, values]) => [column, "offset" in values ? placed(values) : values])));
    }
    const pcap = header["pcap"];
    return { tables, pcap: pcap && !Array.isArray(pcap) ? placed(pcap) : null };
}
function encode(text) {
    return new TextEncoder().encode(text);
}
function decode(bytes) {
    return new TextDecoder().decode(bytes);
}
