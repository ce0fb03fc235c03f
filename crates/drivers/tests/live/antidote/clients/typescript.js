// The client that AntidoteDB's authors publish on npm, against the server at the port given.
const { connect } = require('antidote_ts_client');
const assert = require('assert');

const antidote = connect(Number(process.argv[2]), '127.0.0.1');
antidote.defaultBucket = 'typescript';
antidote.monotonicSnapshots = true;

async function main() {
    const counter = antidote.counter('counter');
    await antidote.update([counter.increment(5), counter.increment(-2)]);
    assert.strictEqual(await counter.read(), 3);

    const set = antidote.set('set');
    await antidote.update(set.addAll(['a', 'b', 'c']));
    await antidote.update(set.remove('b'));
    assert.deepStrictEqual((await set.read()).sort(), ['a', 'c']);

    const register = antidote.register('register');
    await antidote.update(register.set({ n: 1, text: 'ä' }));
    assert.deepStrictEqual(await register.read(), { n: 1, text: 'ä' });

    const map = antidote.gmap('map');
    await antidote.update([
        map.register('name').set('Ann'), map.counter('visits').increment(2), map.set('tags').add('x'),
    ]);
    const value = await map.read();
    assert.strictEqual(value.registerValue('name'), 'Ann');
    assert.strictEqual(value.counterValue('visits'), 2);
    assert.deepStrictEqual(value.setValue('tags'), ['x']);
    assert.deepStrictEqual(await antidote.readBatch([counter, antidote.counter('never')]), [3, 0]);

    // Its own writes are seen, by nobody else before the commit.
    const one = await antidote.startTransaction();
    await one.update(one.counter('counter').increment(10));
    assert.strictEqual(await one.counter('counter').read(), 13);
    assert.strictEqual(await counter.read(), 3);
    await one.commit();
    assert.strictEqual(await counter.read(), 13);

    // Of two that add to one set the second to commit is refused.
    const [first, second] = [await antidote.startTransaction(), await antidote.startTransaction()];
    await first.update(first.set('set').add('d'));
    await second.update(second.set('set').add('e'));
    await first.commit();
    await assert.rejects(second.commit());
    assert.deepStrictEqual((await set.read()).sort(), ['a', 'c', 'd']);

    const undone = await antidote.startTransaction();
    await undone.update(undone.counter('counter').increment(1));
    await undone.abort();
    assert.strictEqual(await counter.read(), 13);
    antidote.close();
    console.log('all is as it should be');
}

main().catch(error => { console.error(error); process.exit(1); });
