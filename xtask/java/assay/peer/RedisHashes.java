package assay.peer;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import redis.clients.jedis.Jedis;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * Reads records from Redis as YCSB's own binding does: a hash for each record, all fields by
 * HGETALL, a connection of the same client library for each thread.
 *
 * <p>Maven Central has that library with YCSB's core, not the binding. What the benchmark does not
 * ask is not implemented.
 */
public final class RedisHashes extends DB {
  private Jedis redis;

  @Override
  public void init() throws DBException {
    String host = getProperties().getProperty("redis.host", "127.0.0.1");
    int port = Integer.parseInt(getProperties().getProperty("redis.port", "6379"));
    redis = new Jedis(host, port);
    redis.connect();
  }

  @Override
  public void cleanup() throws DBException {
    redis.close();
  }

  @Override
  public Status read(
      String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    if (fields != null) {
      return Status.NOT_IMPLEMENTED;
    }
    StringByteIterator.putAllAsByteIterators(result, redis.hgetAll(key));
    return result.isEmpty() ? Status.NOT_FOUND : Status.OK;
  }

  @Override
  public Status scan(
      String table,
      String startkey,
      int recordcount,
      Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return Status.NOT_IMPLEMENTED;
  }

  @Override
  public Status delete(String table, String key) {
    return Status.NOT_IMPLEMENTED;
  }
}
